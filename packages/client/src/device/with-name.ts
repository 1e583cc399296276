import { ClientError } from '../client-error.ts'

/**
 * Enrols under a name, or without one where the server is of an earlier release and knows none. For
 * names that were not chosen: with a chosen one the refusal has to be seen.
 */
export async function enrolWithName<T>(
  name: string | null,
  enrol: (name: string | undefined) => Promise<T>,
): Promise<T> {
  if (name === null) return enrol(undefined)
  try {
    return await enrol(name)
  } catch (error) {
    if (!isAboutName(error)) throw error
    return enrol(undefined)
  }
}

function isAboutName(error: unknown): boolean {
  return error instanceof ClientError && error.api?.status === 400 && error.api.field === 'name'
}
