import { deviceViewSchema, type DeviceView } from '@palisade/protocol'
import { readSigned, type SignedFile } from './signed-metadata.ts'

/** The signed statement that one view belongs to this machine. */
export type Assignment = DeviceView['signed']

/** Null for any other text. Nothing is verified. */
export function readAssignment(file: string | SignedFile): Assignment | null {
  return readSigned(file, deviceViewSchema.shape.signed)
}

/** Milliseconds since 1970; 0 for a text that is no assignment. */
export function issuedMsOf(text: string | null): number {
  const assignment = text === null ? null : readAssignment(text)
  return assignment === null ? 0 : Date.parse(assignment.issued)
}
