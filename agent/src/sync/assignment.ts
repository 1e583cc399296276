import { deviceViewSchema, type DeviceView } from '@palisade/protocol'
import { readSigned, type SignedFile } from './signed-metadata.ts'

/** So long after its issue an assignment without a version stands behind those that have one. */
const UNVERSIONED_LAG_SECONDS = 24 * 60 * 60

/** The signed statement that one view belongs to this machine. */
export type Assignment = DeviceView['signed']

/** Null for any other text. Nothing is verified. */
export function readAssignment(file: string | SignedFile): Assignment | null {
  return readSigned(file, deviceViewSchema.shape.signed)
}

/** Where an assignment stands among those of its machine. */
export interface AssignmentOrder {
  /** That of another view has another one. */
  readonly place: number
  /** Milliseconds since 1970. */
  readonly issuedMs: number
}

/** Before every assignment. */
const FIRST: AssignmentOrder = { place: 0, issuedMs: 0 }

/**
 * By the version. An earlier release of the server signs none, and dates by its own clock, or ahead of it for
 * whoever asks; a day is how long what was recorded of it is taken.
 */
export function orderOf({ version, issued }: Assignment): AssignmentOrder {
  const issuedMs = Date.parse(issued)
  return { place: version ?? issuedMs / 1000 - UNVERSIONED_LAG_SECONDS, issuedMs }
}

/** The same of a text; before every assignment for one that is none. */
export function orderOfText(text: string | null): AssignmentOrder {
  const assignment = text === null ? null : readAssignment(text)
  return assignment === null ? FIRST : orderOf(assignment)
}

export function isLater(one: AssignmentOrder, other: AssignmentOrder): boolean {
  return one.place === other.place ? one.issuedMs > other.issuedMs : one.place > other.place
}
