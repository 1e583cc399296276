import { deviceViewSchema, type DeviceView } from '@palisade/protocol'
import { readSigned, type SignedFile } from './signed-metadata.ts'

/** An assignment without a version stands so far behind those that have one. */
const UNVERSIONED_LAG_SECONDS = 24 * 60 * 60

/** The signed statement that one view belongs to this machine. */
export type Assignment = DeviceView['signed']

/** Null for any other text. Nothing is verified. */
export function readAssignment(file: string | SignedFile): Assignment | null {
  return readSigned(file, deviceViewSchema.shape.signed)
}

/** Where an assignment stands among those of its machine. */
export interface AssignmentOrder {
  /** Its version; assignments of different views have different ones. */
  readonly position: number
  /** Milliseconds since 1970. */
  readonly issuedMs: number
}

/** Before every assignment. */
const FIRST: AssignmentOrder = { position: 0, issuedMs: 0 }

/**
 * By the version. A server of an earlier release signs no version, and dates up to five minutes ahead
 * of its clock; its assignments stand a day behind those that have a version.
 */
export function orderOf({ version, issued }: Assignment): AssignmentOrder {
  const issuedMs = Date.parse(issued)
  return { position: version ?? issuedMs / 1000 - UNVERSIONED_LAG_SECONDS, issuedMs }
}

/** The same of a text; `FIRST` for a text that is no assignment. */
export function orderOfText(text: string | null): AssignmentOrder {
  const assignment = text === null ? null : readAssignment(text)
  return assignment === null ? FIRST : orderOf(assignment)
}

export function isLater(one: AssignmentOrder, other: AssignmentOrder): boolean {
  return one.position === other.position
    ? one.issuedMs > other.issuedMs
    : one.position > other.position
}
