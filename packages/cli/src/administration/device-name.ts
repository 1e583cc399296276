import { deviceNameSchema } from '@palisade/protocol'
import { usageError } from '../cli-error.ts'

/**
 * The name of a machine as it is stored. Throws exit 2 with the argument that it was written in.
 */
export function parseDeviceName(text: string, argument: string): string {
  const parsed = deviceNameSchema.safeParse(text)
  if (parsed.success) return parsed.data
  throw usageError(`\`${argument}\` ${parsed.error.issues[0]?.message ?? 'is not a name'}`)
}
