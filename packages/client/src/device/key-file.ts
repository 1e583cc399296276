import type { DeviceKey } from '@palisade/protocol'
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Path of the private key of a machine, beside its enrolment file. */
export function keyFileOf(enrolmentPath: string): string {
  return `${enrolmentPath}.key`
}

/**
 * Writes the key to a new file (mode 0600), durable when it resolves. It follows no link and
 * replaces no file: throws the system's error, `EEXIST` when the path exists.
 */
export async function writeKeyFile(path: string, key: DeviceKey): Promise<void> {
  const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants
  const file = await open(path, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY, 0o600)
  try {
    await file.writeFile(`${JSON.stringify(key)}\n`)
    await file.sync()
  } finally {
    await file.close()
  }
  // Otherwise a crash could leave a machine enrolled with a missing key.
  const directory = await open(dirname(path), constants.O_RDONLY)
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}
