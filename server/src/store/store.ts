import type { Aggregates } from './aggregates/aggregates.ts'

/**
 * The durable state of the server. All drivers pass `test/server/store/store-conformance.ts`.
 *
 * `work` may await the reader or writer it was given, but no other operation on this store: a
 * nested `read` in `read`, or `transaction` in `transaction`, waits for itself. It awaits no slow
 * operation either: hash passwords and sign before or after.
 */
export interface Store {
  /** Runs `work` on one snapshot of the rows committed before it started. */
  read<T>(work: (reader: StoreReader) => Promise<T>): Promise<T>
  /**
   * Runs `work` alone among all writers; it sees everything committed and its own writes. Durable
   * (on disk) before it resolves; undone entirely when `work` throws. Throws StoreError.
   *
   * A driver may make several transactions durable with one commit: each of them is told after it,
   * and when it fails all of them have failed. Transactions run in the order of their arrival.
   */
  transaction<T>(work: (writer: StoreWriter) => Promise<T>): Promise<T>
  /**
   * Differs from every earlier result whenever a commit may have happened in between: a read made
   * after the call is current while the result stays the same. Commits of this process count at
   * once, those of others from the next turn of the event loop after they are seen. The call is
   * cheap. Throws `ERR_STORE_UNAVAILABLE`.
   *
   * Some writes do not change it: the last use of access tokens, devices and networks of users,
   * reports and assignments of devices, verdicts on rollouts, progress of deliveries, and answers
   * kept for repeated requests. For `accounts` (users and their teams, access tokens, devices,
   * signing keys, secrets) a driver may also leave out other writes that do not change them.
   */
  generation(of?: 'accounts'): number
  /**
   * Resolves when a query of all tables is answered. Throws `ERR_STORE_UNAVAILABLE`, and
   * `ERR_STORE_SCHEMA_DAMAGED` when one is missing.
   */
  ping(): Promise<void>
  /** Lets running work finish, then closes. Later calls throw `ERR_STORE_UNAVAILABLE`. */
  close(): Promise<void>
}

/** The reader of each aggregate, by its name. */
export type StoreReader = {
  readonly [Name in keyof Aggregates]: ReturnType<Aggregates[Name]['reader']>
}

/**
 * A reader that also writes. Each change of policies, rules, scopes, teams, memberships, settings
 * or the progress of a rollout raises the organization's revision by itself.
 */
export type StoreWriter = {
  readonly [Name in keyof Aggregates]: ReturnType<Aggregates[Name]['writer']>
}
