import type { Enrolment, KeptEnrolment } from '@palisade/protocol'
import { ClientError } from '../client-error.ts'

/** The enrolment as its file keeps it: with the name, which the answer does not hold. */
export function keepName(enrolment: Enrolment, name: string | undefined): KeptEnrolment {
  return name === undefined ? enrolment : { ...enrolment, name }
}

/**
 * Enrols under a name, or without one where the server is of an earlier release and knows none. For
 * names that were not chosen: with a chosen one the refusal has to be seen.
 */
export async function enrolWithName(
  name: string | null,
  enrol: (name: string | undefined) => Promise<Enrolment>,
): Promise<KeptEnrolment> {
  if (name === null) return enrol(undefined)
  try {
    return keepName(await enrol(name), name)
  } catch (error) {
    if (!isAboutName(error)) throw error
    return enrol(undefined)
  }
}

function isAboutName(error: unknown): boolean {
  return error instanceof ClientError && error.api?.status === 400 && error.api.field === 'name'
}
