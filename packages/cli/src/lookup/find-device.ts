import type { OrganizationClient } from '@palisade/client'
import type { Device } from '@palisade/protocol'
import { CliError, usageError } from '../runtime/cli-error.ts'
import { EXIT } from '../runtime/exit-code.ts'
import { findByPrefix } from './find-by-prefix.ts'

const FULL_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Resolves `written` to a machine's id as `findDevice` does. Throws `ERR_NOT_FOUND`, exit 1. */
export async function findDeviceId(
  organization: OrganizationClient,
  written: string,
): Promise<string> {
  // An empty id would request the path of the list.
  if (written === '') throw usageError('the id of a device is empty')
  // The server itself reports an unknown id, so listing all machines is unnecessary.
  if (FULL_ID.test(written)) return written
  const found = findDevice(await organization.devices.list(), written)
  if (found !== null) return found.id
  throw new CliError(
    'ERR_NOT_FOUND',
    EXIT.failed,
    `no device \`${written}\`; write a name or an id of \`palisade device list\`, ` +
      'or at least the first four characters of the id',
  )
}

/**
 * Finds a machine by id, name or unique id prefix; null if no machine matches. Revoked
 * machines are found by id only. Throws `ERR_NOT_FOUND` if several match.
 */
export function findDevice(devices: readonly Device[], written: string): Device | null {
  const byId = devices.find(({ id }) => id === written)
  if (byId !== undefined) return byId
  const name = written.normalize('NFC').trim()
  const [named, ...others] = devices.filter(
    (each) => each.name === name && each.revoked_at === undefined,
  )
  if (others.length === 0) return named ?? findByPrefix('device', devices, written)
  throw new CliError(
    'ERR_NOT_FOUND',
    EXIT.failed,
    `${others.length + 1} devices are named \`${name}\`; write the id of one`,
  )
}
