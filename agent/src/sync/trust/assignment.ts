import { deviceViewSchema } from '@palisade/protocol'
import type { z } from 'zod'
import { isSignedBy, readSigned, type Root, type SignedFile } from './signed-metadata.ts'

const assignmentSchema = deviceViewSchema.shape.signed

/** The signed statement that one view belongs to this machine. */
export type Assignment = z.infer<typeof assignmentSchema>

/** Null for any other text. Nothing is verified. */
export function readAssignment(file: string | SignedFile): Assignment | null {
  return readSigned(file, assignmentSchema)
}

/** Where an assignment stands among those of its machine. */
export interface AssignmentOrder {
  /** Assignments of different views have different ones. */
  readonly version: number
  /** Milliseconds since 1970. */
  readonly issuedMs: number
}

/** Before every assignment. */
const FIRST: AssignmentOrder = { version: 0, issuedMs: 0 }

export function orderOf({ version, issued }: Assignment): AssignmentOrder {
  return { version, issuedMs: Date.parse(issued) }
}

/** The same of a text; `FIRST` for a text that is no assignment. */
export function orderOfText(text: string | null): AssignmentOrder {
  const assignment = text === null ? null : readAssignment(text)
  return assignment === null ? FIRST : orderOf(assignment)
}

export function isLater(one: AssignmentOrder, other: AssignmentOrder): boolean {
  return one.version === other.version ? one.issuedMs > other.issuedMs : one.version > other.version
}

/**
 * Of the newest assignment that was accepted; null without one. By the present targets keys: one
 * that a thief signed with former keys keeps nothing out.
 */
export function newestOrderOf(
  { newest_assignment: newest }: { readonly newest_assignment: string | null },
  root: Root,
): AssignmentOrder | null {
  return newest === null || !isSignedBy(root, 'targets', newest) ? null : orderOfText(newest)
}
