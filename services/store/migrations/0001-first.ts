/** The first layout: journal, actors at rest, items, effects, receipts, links. */
export const first = {
  version: 1,
  sql: `
create table meta (key text primary key, value text not null) without rowid;
create table commits (seq integer primary key, at integer not null);

create table journal (
  commit_seq integer not null,
  idx integer not null,
  actor_id text not null,
  kind text not null,
  seq integer not null,
  event text not null,
  from_status text,
  to_status text not null,
  verdict text not null,
  primary key (commit_seq, idx)
) without rowid;
create index journal_by_actor on journal (actor_id, commit_seq, idx);

create table actors (
  id text primary key,
  kind text not null,
  version text not null,
  seq integer not null,
  state text not null,
  status text not null,
  owner text,
  peer text,
  ordinal integer,
  context text not null,
  commit_seq integer not null
) without rowid;
create index actors_by_owner on actors (kind, owner, ordinal);
create index actors_by_peer on actors (kind, peer, status) where peer is not null;
create index actors_by_status on actors (kind, status);

create table actor_history (
  actor_id text not null,
  seq integer not null,
  commit_seq integer not null,
  version text not null,
  state text not null,
  context text not null,
  primary key (actor_id, seq)
) without rowid;

create table items (
  position integer primary key autoincrement,
  id text not null unique,
  thread_id text not null,
  run_id text,
  run_ordinal integer not null,
  native_id text,
  truncated integer not null,
  created_at integer not null,
  body text not null,
  commit_seq integer not null
);
create index items_by_thread on items (thread_id, run_ordinal, position);
create index items_by_commit on items (commit_seq);

create table progress (run_id text primary key, text text not null) without rowid;
create table blobs (digest text primary key, bytes blob not null);
create table checkpoints (id text primary key, thread_id text not null, ordinal integer not null, body text not null) without rowid;
create index checkpoints_by_thread on checkpoints (thread_id, ordinal);
create table handoffs (id text primary key, transfer_id text not null, body text not null);
create index handoffs_by_transfer on handoffs (transfer_id);
create table provider_threads (id text primary key, thread_id text not null, body text not null) without rowid;
create index provider_threads_by_thread on provider_threads (thread_id);
create table projects (id text primary key, body text not null) without rowid;

create table effects (
  id text primary key,
  commit_seq integer not null,
  request text not null,
  state text not null,
  tries integer not null default 0,
  note text not null default ''
) without rowid;
create index effects_open on effects (commit_seq) where state in ('pending', 'started');
create table receipts (command_id text primary key, digest text not null, response text not null, commit_seq integer not null) without rowid;
create table imports (thread_id text primary key, digest text not null) without rowid;

create table links (link_id text primary key, body text not null) without rowid;
create table outbox (
  link_id text not null,
  epoch integer not null,
  number integer not null,
  kind text not null,
  request_id text,
  body text not null,
  digest text not null,
  commit_seq integer not null,
  primary key (link_id, epoch, number)
);
create table incoming_requests (
  environment_id text not null,
  request_id text not null,
  digest text not null,
  answer text not null,
  primary key (environment_id, request_id)
) without rowid;
create table outgoing_requests (
  request_id text primary key,
  environment_id text not null,
  kind text not null,
  subject text not null,
  answer text
) without rowid;
create index outgoing_open on outgoing_requests (environment_id) where answer is null;
create table kept_messages (
  link_id text not null,
  epoch integer not null,
  number integer not null,
  raw text not null,
  reason text not null,
  primary key (link_id, epoch, number)
) without rowid;
`,
} as const;
