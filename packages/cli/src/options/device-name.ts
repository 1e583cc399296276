import { deviceNameSchema } from '@palisade/protocol'
import { usageError } from '../runtime/cli-error.ts'

/**
 * Parses the name of a machine to its stored form. Throws exit 2 with the name of the argument.
 */
export function parseDeviceName(text: string, argument: string): string {
  const parsed = deviceNameSchema.safeParse(text)
  if (parsed.success) return parsed.data
  throw usageError(`\`${argument}\` ${parsed.error.issues[0]?.message ?? 'is not a name'}`)
}
