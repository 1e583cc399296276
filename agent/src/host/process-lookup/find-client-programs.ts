import type { RecordedProgram } from '@palisade/protocol'
import { readFile, readlink } from 'node:fs/promises'
import { findHolders, type Holder } from './socket-owners.ts'
import type { ClientEndpoint } from './client-endpoint.ts'
import type { TcpEndpoint } from './tcp-table.ts'

/** Finds the programs at these endpoints of connections to the proxy; null for an unknown one. */
export type FindClientPrograms = (
  endpoints: readonly ClientEndpoint[],
) => Promise<readonly (RecordedProgram | null)[]>

const MAX_EXECUTABLE = 1_024
/** A directory service may list every user of a large organization. */
const MAX_PASSWD_CHARACTERS = 1024 * 1024
const MAX_NAMES = 100

/**
 * Reads proc(5), newest processes first: a program that is refused may end at once, and it is
 * seldom an old one. `proxy` is the end that programs connect to.
 */
export function createFindClientPrograms(proxy: () => TcpEndpoint): FindClientPrograms {
  const names = new Map<string, Promise<string | null>>()
  const nameOf = (uid: string): Promise<string | null> => {
    const known = names.get(uid)
    if (known !== undefined) return known
    if (names.size >= MAX_NAMES) names.clear()
    const name = readUserName(uid)
    names.set(uid, name)
    return name
  }

  const describe = async (holder: Holder | 'closed' | null): Promise<RecordedProgram | null> => {
    if (holder === null || holder === 'closed') return null
    const { pid, uid } = holder
    const executable = pid === null ? null : await readExecutable(pid)
    const name = await nameOf(uid)
    return {
      // Without the link the process has ended, and another may get its id.
      ...(pid === null || executable === null ? {} : { pid: Number(pid), executable }),
      user: { uid: Number(uid), ...(name === null ? {} : { name }) },
    }
  }

  return async (endpoints) => {
    const found = await findHolders(proxy(), endpoints, 'newest')
    return Promise.all(found.map(describe))
  }
}

async function readExecutable(pid: string): Promise<string | null> {
  try {
    return (await readlink(`/proc/${pid}/exe`)).slice(0, MAX_EXECUTABLE)
  } catch {
    return null
  }
}

/** See passwd(5); null for a user that only a directory service knows. */
async function readUserName(uid: string): Promise<string | null> {
  const text = await readFile('/etc/passwd', 'utf8').catch(() => '')
  const line = text
    .slice(0, MAX_PASSWD_CHARACTERS)
    .split('\n')
    .find((each) => each.split(':')[2] === uid)
  return line?.split(':')[0] ?? null
}
