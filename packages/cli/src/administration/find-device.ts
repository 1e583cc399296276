import type { OrganizationClient } from '@palisade/client'
import { CliError, usageError } from '../cli-error.ts'
import { EXIT } from '../exit-code.ts'
import { findByPrefix } from './find-by-prefix.ts'

const WHOLE_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** The id of the machine whose id is, or begins with, `written`. Throws `ERR_NOT_FOUND`, exit 1. */
export async function findDeviceId(
  organization: OrganizationClient,
  written: string,
): Promise<string> {
  // An empty id would be the path of the whole list.
  if (written === '') throw usageError('the id of a device is empty')
  // The server says whether it is there; listing all machines would say no more.
  if (WHOLE_ID.test(written)) return written
  const devices = await organization.devices.list()
  const found = devices.find(({ id }) => id === written) ?? findByPrefix('device', devices, written)
  if (found !== null) return found.id
  throw new CliError(
    'ERR_NOT_FOUND',
    EXIT.failed,
    `no device \`${written}\`; write an id of \`palisade device list\`, or at least four characters of its beginning`,
  )
}
