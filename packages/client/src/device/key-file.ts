import type { DeviceKey } from '@palisade/protocol'
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Where the private key of a machine is, beside its enrolment file. */
export function keyFileOf(enrolmentPath: string): string {
  return `${enrolmentPath}.key`
}

/**
 * Writes the key to a new file (mode 0600), durable when it resolves. No link is followed and no
 * file replaced: throws the system's error, `EEXIST` when something is there.
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
  // Or a crash could leave a machine that is enrolled with a key that is not there.
  const directory = await open(dirname(path), constants.O_RDONLY)
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}
