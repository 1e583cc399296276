import type { OrganizationClient } from '@palisade/client'
import type { Device } from '@palisade/protocol'
import { CliError, usageError } from '../cli-error.ts'
import { EXIT } from '../exit-code.ts'
import { findByPrefix } from './find-by-prefix.ts'

const WHOLE_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** The id of the machine that is `written`; see `findDevice`. Throws `ERR_NOT_FOUND`, exit 1. */
export async function findDeviceId(
  organization: OrganizationClient,
  written: string,
): Promise<string> {
  // An empty id would be the path of the whole list.
  if (written === '') throw usageError('the id of a device is empty')
  // The server says whether it is there; listing all machines would say no more.
  if (WHOLE_ID.test(written)) return written
  const found = findDevice(await organization.devices.list(), written)
  if (found !== null) return found.id
  throw new CliError(
    'ERR_NOT_FOUND',
    EXIT.failed,
    `no device \`${written}\`; write a name or an id of \`palisade device list\`, or at least four characters of its beginning`,
  )
}

/**
 * The machine with that id or name, or the only one whose id begins so; null for none. Revoked
 * machines are found by their id alone. Throws `ERR_NOT_FOUND` when several are meant.
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
    `${others.length + 1} devices are called \`${name}\`; write the id of one`,
  )
}
