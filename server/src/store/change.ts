import type { EventKind } from '@palisade/protocol'
import type { EventRecord } from './records.ts'

/** A change that is to become an event, without its author and time. */
export interface Change {
  readonly scope: ChangeScope
  readonly kind: EventKind
  readonly subject: EventRecord['subject']
  readonly before: ChangeState | null
  readonly after: ChangeState | null
  /** Whether more has changed than is shown, such as a secret; then it is kept in any case. */
  readonly hidden?: true
}

/**
 * The history that the change belongs to: one organization's, those that own a user's account, or
 * every one. Other organizations of the user are left out, because any organization can add a user
 * whose name it knows.
 */
export type ChangeScope = { readonly org: string } | { readonly username: string } | 'everywhere'

/** A wire representation. It is made member by member, so that no secret slips in with a column. */
export type ChangeState = object

/** Where the writes of a transaction leave their changes. */
export interface ChangeRecorder {
  /** A change that leaves everything as it was is not kept, unless it is `hidden`. */
  readonly record: (change: Change) => Promise<void>
  /** Notes that the answer to a request is kept, which takes room without a change, too. */
  readonly noteAnswer: () => void
}

/** The methods of a writer that its reader does not have. */
export type Writes<Writer, Reader> = Pick<Writer, Exclude<keyof Writer, keyof Reader>>
