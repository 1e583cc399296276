import { deviceViewSchema } from '@palisade/protocol'
import type { z } from 'zod'
import { isSignedBy, readSigned, type Root, type SignedFile } from './signed-metadata.ts'

const assignmentSchema = deviceViewSchema.shape.signed

/** The signed statement that one view belongs to this machine. */
export type Assignment = z.infer<typeof assignmentSchema>

/** Null for any other text. Does not verify it. */
export function readAssignment(file: string | SignedFile): Assignment | null {
  return readSigned(file, assignmentSchema)
}

/** The position of an assignment among those of its machine. */
export interface AssignmentOrder {
  /** Differs between assignments of different views. */
  readonly version: number
  /** Milliseconds since 1970. */
  readonly issuedMs: number
}

/** Precedes every assignment. */
const FIRST: AssignmentOrder = { version: 0, issuedMs: 0 }

export function orderOf({ version, issued }: Assignment): AssignmentOrder {
  return { version, issuedMs: Date.parse(issued) }
}

/** The order of an assignment text; `FIRST` for any other text. */
export function orderOfText(text: string | null): AssignmentOrder {
  const assignment = text === null ? null : readAssignment(text)
  return assignment === null ? FIRST : orderOf(assignment)
}

export function isLater(one: AssignmentOrder, other: AssignmentOrder): boolean {
  return one.version === other.version ? one.issuedMs > other.issuedMs : one.version > other.version
}

/**
 * The order of the newest accepted assignment; null without one. It counts only under the present
 * targets keys: an assignment that a thief signed with former keys must not keep others out.
 */
export function newestOrderOf(
  { newest_assignment: newest }: { readonly newest_assignment: string | null },
  root: Root,
): AssignmentOrder | null {
  return newest === null || !isSignedBy(root, 'targets', newest) ? null : orderOfText(newest)
}
