import { readdirSync, readlinkSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { setImmediate as pause } from 'node:timers/promises'

/**
 * Names the owner of each loopback connection to this proxy by the port that it comes from:
 * `process 123`, `user 1000` where the process is out of sight, null where neither is known.
 */
export type FindOwners = (ports: readonly number[]) => Promise<readonly (string | null)[]>

/** Links read between two pauses: decisions must not wait for a machine with 100,000 of them. */
const LINKS_A_SLICE = 200

interface TcpSocket {
  readonly uid: string
  readonly inode: string
}

/** Reads proc(5); knows nothing on a machine without it. `ownPort` is the port of the proxy. */
export function createFindOwners(ownPort: () => number): FindOwners {
  return async (ports) => {
    // A client may connect by an IPv6 socket to the IPv4 address, as Java does.
    const tables = await Promise.all(
      ['/proc/net/tcp', '/proc/net/tcp6'].map((path) => readFile(path, 'latin1').catch(() => '')),
    )
    const sockets = new Map(tables.flatMap((table) => parseTcpTable(table, ownPort())))
    const found = ports.map((port) => sockets.get(port) ?? null)
    const inodes = found.flatMap((socket) => (socket === null ? [] : [socket.inode]))
    const processes = await findProcesses(new Set(inodes))
    return found.map((socket) => {
      if (socket === null) return null
      const pid = processes.get(socket.inode)
      return pid === undefined ? `user ${socket.uid}` : `process ${pid}`
    })
  }
}

/** The sockets that are connected to `remotePort`, by their own port; see proc_net_tcp(5). */
export function parseTcpTable(
  table: string,
  remotePort: number,
): readonly (readonly [port: number, TcpSocket])[] {
  const suffix = `:${remotePort.toString(16).toUpperCase().padStart(4, '0')}`
  return table.split('\n').flatMap((line) => {
    const [, local = '', remote = '', , , , , uid = '', , inode = ''] = line.trim().split(/\s+/)
    if (!remote.endsWith(suffix)) return []
    return [[Number.parseInt(local.slice(local.lastIndexOf(':') + 1), 16), { uid, inode }] as const]
  })
}

/** Which process has each socket; ends as soon as all are found. */
async function findProcesses(inodes: ReadonlySet<string>): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>()
  let links = 0
  for (const pid of list('/proc').filter((name) => /^\d+$/.test(name))) {
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

/** Processes end while they are looked at, and those of other users are closed. */
function list(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

function readLink(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}
