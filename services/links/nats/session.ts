import type { JetStreamClient, JetStreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";

/** One connected stretch of a connection: from a connect or reconnect to the next disconnect. */
export type NatsSession = {
  readonly nc: NatsConnection;
  readonly js: JetStreamClient;
  readonly jsm: JetStreamManager;
  /** False once the connection is gone; what was learned in this session may be out of date then. */
  live: boolean;
};
