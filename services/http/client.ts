import type { BackupRequest, BackupView } from "../../schemas/backup.ts";
import type { ClientView, PairingOffer, PairingRequest } from "../../schemas/client.ts";
import type { ClientId, LinkId } from "../../schemas/ids.ts";
import type { Grant } from "../../schemas/link.ts";
import type { InviteOffer, InviteRequest, InviteView, JoinRequest, JoinResult } from "../../schemas/pairing.ts";
import { EnvironmentClient } from "./client/environment-client.ts";
import { SocketTransport } from "./client/socket-transport.ts";
import { type UrlOptions, UrlTransport } from "./client/url-transport.ts";
import type { BackupLine } from "./routes/backups.ts";

/** Connecting to a broker, and the usual wait for the other side's word. */
const linkMs = 60_000;

/** Speaks to the environment that runs on a folder, as this machine's user: also what only that one may do. */
export class LocalClient extends EnvironmentClient {
  readonly dir: string;

  constructor(dir: string) {
    super(new SocketTransport(dir));
    this.dir = dir;
  }

  /** Asks it to end cleanly; it does so after its answer. */
  shutdown(): Promise<{ pid: number }> {
    return this.post("/shutdown");
  }

  /** A code by which one other environment is linked. */
  invite(request: InviteRequest): Promise<InviteOffer> {
    return this.post("/invites", request, linkMs);
  }
  /** Codes that were made, and what became of them. */
  invites = (): Promise<{ invites: InviteView[] }> => this.get("/invites");
  /** Takes up another environment's code. */
  join(request: JoinRequest): Promise<JoinResult> {
    return this.post("/invites/join", request, (request.waitMs ?? 0) + linkMs);
  }

  renameLink(id: LinkId, name: string): Promise<{ linkId: LinkId; name: string; grants: Grant[] }> {
    return this.post(`/links/${id}/rename`, { name });
  }
  /** What the other side may do here from now on. */
  grantToLink(id: LinkId, grants: Grant[]): Promise<{ linkId: LinkId; name: string; grants: Grant[] }> {
    return this.post(`/links/${id}/grants`, { grants });
  }

  /** Programs that were let in over the network, and where they come in. */
  clients = (): Promise<{ url: string | null; clients: ClientView[] }> => this.get("/clients");
  /** A code by which one program is let in. */
  addClient(request: PairingRequest): Promise<PairingOffer> {
    return this.post("/clients/pairing", request);
  }
  backups = (): Promise<{ backups: BackupView[] }> => this.get("/backups");
  /** How far a backup is, then what came of it. It goes on when nobody listens any more. */
  makeBackup = (request: BackupRequest): AsyncGenerator<BackupLine> => this.lines("/backups", request);

  /** Takes back all that a program was given. */
  revokeClient(id: ClientId): Promise<{ clientId: ClientId }> {
    return this.post(`/clients/${id}/revoke`);
  }
}

/** A client of the environment on a folder; nothing is connected before its first call. */
export function connectLocal(dir: string): LocalClient {
  return new LocalClient(dir);
}

/** A client of an environment at an http(s) address; nothing is asked before its first call. */
export function connect(url: string | URL, options: UrlOptions = {}): EnvironmentClient {
  return new EnvironmentClient(new UrlTransport(url, options));
}
