import type { Dialect } from '../../dialect.ts'

/** State of the server itself: its keys and secrets, and answers to repeated requests. */
export function serverState({ text, integer, bytes, keyed, numbered }: Dialect): string {
  return `
  -- Keys of the access tokens that this server issues.
  CREATE TABLE signing_keys (
    kid ${text} PRIMARY KEY,
    purpose ${text} NOT NULL CHECK (purpose = 'access_token'),
    private_jwk ${text} NOT NULL,
    created_at ${text} NOT NULL,
    -- Null while the key signs.
    verifies_until ${text}
  ) ${keyed};

  CREATE TABLE secrets (
    name ${text} PRIMARY KEY,
    value ${bytes} NOT NULL
  ) ${keyed};

  -- The first answer to each POST with an idempotency key.
  CREATE TABLE idempotency (
    scope ${text} PRIMARY KEY,
    caller ${text} NOT NULL,
    body_hash ${text} NOT NULL,
    status ${integer} NOT NULL,
    headers ${text} NOT NULL,
    body ${text} NOT NULL,
    expires_at ${text} NOT NULL
  ) ${numbered};
  CREATE INDEX idempotency_by_expiry ON idempotency (expires_at);

  -- The number and bytes of the answers that are kept for each caller.
  CREATE TABLE idempotency_callers (
    caller ${text} PRIMARY KEY,
    answers ${integer} NOT NULL,
    bytes ${integer} NOT NULL
  ) ${keyed};
  `
}
