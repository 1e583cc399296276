import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { setImmediate as pause } from 'node:timers/promises'
import type { ClientEndpoint, Within } from './client-endpoint.ts'
import { readTcpTables, type TcpEndpoint, type TcpSocket } from './tcp-table.ts'
import { readUdpTables } from './udp-table.ts'

/** The program at the other end of a connection. */
export interface Owner {
  /** Null for a process of another user, which is not visible. */
  readonly process: string | null
  /** `session 12` of the process, or `user 1000` when the process is not visible. */
  readonly fairnessKey: string
}

/**
 * Finds the owner of each loopback connection to this proxy by its client end. Returns `closed`
 * once the client has closed or reset the connection, and null for an unknown owner.
 */
export type FindOwners = (
  clients: readonly ClientEndpoint[],
) => Promise<readonly (Owner | 'closed' | null)[]>

/** Links read between two pauses: decisions must not wait for a machine with 100,000 links. */
const LINKS_A_SLICE = 200

/** Inode of a socket that no process holds. */
const NO_INODE = '0'

/** Reads proc(5); without it all owners are unknown. */
export function createFindOwners(proxy: () => TcpEndpoint): FindOwners {
  return async (clients) => {
    const found = await findHolders(proxy(), clients, 'oldest')
    return found.map((holder) => {
      if (holder === null || holder === 'closed') return holder
      const { pid, uid } = holder
      const user = `user ${uid}`
      return { process: pid, fairnessKey: pid === null ? user : (sessionOf(pid) ?? user) }
    })
  }
}

/** The process at the other end of a connection. */
export interface Holder {
  /** Null for a process of another user, which is not visible. */
  readonly pid: string | null
  readonly uid: string
}

/**
 * Finds the process at the client end of each connection to `proxy`: `closed` once the client has
 * closed or reset the connection, and null for an unknown one. Several processes may hold a
 * connection; `order` chooses the one that started first or last, as far as ids tell.
 */
export async function findHolders(
  proxy: TcpEndpoint,
  clients: readonly ClientEndpoint[],
  order: 'oldest' | 'newest',
): Promise<readonly (Holder | 'closed' | null)[]> {
  const found = await findSockets(proxy, clients)
  const inodes = found.flatMap((pair) => (pair?.theirs ? [pair.theirs.inode] : []))
  const wanted = new Set(inodes.filter((inode) => inode !== NO_INODE))
  const processes = await findProcesses(wanted, order)
  return found.map((pair) => {
    if (pair === null) return null
    const { theirs, ours } = pair
    if (isOver(theirs, ours)) return 'closed'
    return theirs === null ? null : { pid: processes.get(theirs.inode) ?? null, uid: theirs.uid }
  })
}

/** The sockets at both ends of a connection. */
interface SocketPair {
  readonly theirs: TcpSocket | null
  readonly ours: TcpSocket | null
}

/** Null for a socket whose tables cannot be read. */
async function findSockets(
  proxy: TcpEndpoint,
  clients: readonly ClientEndpoint[],
): Promise<readonly (SocketPair | null)[]> {
  const finders = new Map<string, FindPair | null>()
  for (const { within } of clients) {
    const key = keyOfTables(within)
    if (!finders.has(key)) finders.set(key, await readFinder(proxy, within))
  }
  return clients.map((client) => finders.get(keyOfTables(client.within))?.(client) ?? null)
}

function keyOfTables(within: Within | undefined): string {
  if (within === undefined) return 'tcp'
  return `${within.pid} ${within.connection === undefined ? 'udp' : 'tcp'}`
}

type FindPair = (client: ClientEndpoint) => SocketPair

async function readFinder(
  proxy: TcpEndpoint,
  within: Within | undefined,
): Promise<FindPair | null> {
  const folder = within === undefined ? '/proc/net' : `/proc/${within.pid}/net`
  if (within !== undefined && within.connection === undefined) {
    const tables = await readTables(folder, ['udp', 'udp6'])
    if (tables === null) return null
    const find = readUdpTables(tables)
    return (client) => ({ theirs: find(client), ours: null })
  }
  // A client may connect by an IPv6 socket to an IPv4 address, as Java does.
  const tables = await readTables(folder, ['tcp', 'tcp6'])
  if (tables === null) return null
  const find = readTcpTables(tables, within === undefined ? proxy : null)
  return (client) => {
    const { server = proxy, accepted = proxy } = client.within?.connection ?? {}
    return { theirs: find(client, server), ours: find(accepted, client) }
  }
}

async function readTables(
  folder: string,
  names: readonly string[],
): Promise<readonly string[] | null> {
  const tables = await Promise.all(
    names.map((name) => readFile(`${folder}/${name}`, 'latin1').catch(() => '')),
  )
  return tables.every((table) => table === '') ? null : tables
}

/**
 * Whether no process is at the other end. The kernel drops that end after a minute, and both ends
 * after a reset. A table that changes while it is read may lack a line.
 */
function isOver(theirs: TcpSocket | null, ours: TcpSocket | null): boolean {
  if (theirs !== null) return theirs.inode === NO_INODE && !theirs.isEstablished
  return ours?.isEstablished !== true
}

/** Maps sockets to their processes; stops when all are found. */
async function findProcesses(
  inodes: ReadonlySet<string>,
  order: 'oldest' | 'newest',
): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>()
  if (inodes.size === 0) return found
  const pids = list('/proc').filter((name) => /^\d+$/.test(name))
  if (order === 'newest') pids.sort((a, b) => Number(b) - Number(a))
  // Last, this process: it holds two sockets for each tunnel, and is seldom a client of itself.
  const own = String(process.pid)
  pids.sort((a, b) => Number(a === own) - Number(b === own))
  let links = 0
  for (const pid of pids) {
    const folder = `/proc/${pid}/fd`
    for (const descriptor of list(folder)) {
      if (found.size === inodes.size) return found
      const inode = /^socket:\[(\d+)\]$/.exec(readLink(`${folder}/${descriptor}`))?.[1]
      if (inode !== undefined && inodes.has(inode) && !found.has(inode)) found.set(inode, pid)
      links += 1
      if (links % LINKS_A_SLICE === 0) await pause()
    }
  }
  return found
}

/** Null for an ended process. See proc_pid_stat(5): the name before may hold any character. */
function sessionOf(pid: string): string | null {
  const stat = readText(`/proc/${pid}/stat`)
  const [, , , session] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return session === undefined ? null : `session ${session}`
}

/** Empty for a process that has ended, or that belongs to another user. */
function list(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}

function readLink(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}
