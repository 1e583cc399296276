import type { Socket } from 'node:net'
import { AgentError } from '../host/errors.ts'
import { loadSocketOptions, type ReadSocketOption } from '../host/process-lookup/socket-options.ts'
import type { Refusal } from '../http/envelope.ts'

/** Refuses a caller for whom a route is not; null for one who may call. */
export type AdmitCaller = (
  route: { readonly callers: 'all' | 'owner' },
  client: Socket,
) => Refusal | null

/** `SOL_SOCKET` and `SO_PEERCRED`, see unix(7): the kernel tells who connected. */
const PEER_CREDENTIALS = { level: 1, name: 17 } as const
/** `struct ucred`: process, user and group id, each of 32 bits. */
const CREDENTIALS_BYTES = 12
/** Stands for a user without an id in this user namespace. */
const NO_USER = 0xff_ff_ff_ff

/**
 * Admits every user to routes that only read, and the user `owner` to all. Throws `ERR_SOCKET`
 * where the agent cannot tell its callers apart.
 */
export async function loadAdmission(owner: number, load = loadSocketOptions): Promise<AdmitCaller> {
  const loaded = await load()
  if (!loaded.ok)
    throw new AgentError('ERR_SOCKET', [
      'this agent cannot tell its users apart, because the package `koffi` does not load ' +
        `(${loaded.reason}); install the packages again, or leave PALISADE_USERS out`,
    ])
  return ({ callers }, client) => {
    if (callers === 'all') return null
    const user = readUser(loaded.read, client)
    if (user !== null && user === owner) return null
    const message = 'only the administrator of this machine may ask this; run the command as root'
    return { status: 403, code: 'permission_denied', message }
  }
}

/** The user id of the process that connected; null where the kernel does not tell. */
export function readUser(read: ReadSocketOption, client: Socket): number | null {
  const value = Buffer.alloc(CREDENTIALS_BYTES)
  if (!read(client, PEER_CREDENTIALS, value)) return null
  // In the byte order of the processor.
  const [, user = NO_USER] = new Uint32Array(value.buffer, value.byteOffset, 3)
  return user === NO_USER ? null : user
}
