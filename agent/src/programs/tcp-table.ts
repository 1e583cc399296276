import { endianness } from 'node:os'

/** One end of an IPv4 connection. */
export interface TcpEnd {
  readonly address: string
  readonly port: number
}

/** One end of a connection in the kernel's table. */
export interface TcpSocket {
  readonly uid: string
  /** 0 when no process holds it. */
  readonly inode: string
  readonly isEstablished: boolean
}

/** Looks up the socket at the end `from` of a connection, or null. */
export type FindSocket = (from: TcpEnd, to: TcpEnd) => TcpSocket | null

const ESTABLISHED = '01'

/**
 * Reads the kernel's tables, see proc_net_tcp(5), for connections of `end`. Both ends with their
 * addresses identify a socket, because others may use the same ports on other addresses.
 */
export function readTcpTables(tables: readonly string[], end: TcpEnd): FindSocket {
  const sockets = new Map<string, TcpSocket>()
  const wanted = formatEnd(end)
  for (const line of tables.flatMap((table) => table.split('\n'))) {
    // Tables have thousands of lines, most about other connections.
    if (!line.includes(wanted)) continue
    const [, from = '', to = '', state, , , , uid = '', , inode = ''] = line.trim().split(/\s+/)
    const key = `${withoutMapping(from)} ${withoutMapping(to)}`
    sockets.set(key, { uid, inode, isEstablished: state === ESTABLISHED })
  }
  return (from, to) => sockets.get(`${formatEnd(from)} ${formatEnd(to)}`) ?? null
}

function formatEnd({ address, port }: TcpEnd): string {
  const portText = port.toString(16).toUpperCase().padStart(4, '0')
  return `${formatWord(address.split('.').map(Number))}:${portText}`
}

/** `::ffff:0:0/96`, for an IPv6 socket that is connected to an IPv4 address. */
const MAPPING = `${'0'.repeat(16)}${formatWord([0, 0, 255, 255])}`

function withoutMapping(end: string): string {
  return end.startsWith(MAPPING) ? end.slice(MAPPING.length) : end
}

/** The tables hold addresses as four-byte words in the byte order of the processor. */
function formatWord(bytes: readonly number[]): string {
  const ordered = endianness() === 'LE' ? bytes.toReversed() : bytes
  return Buffer.from(ordered).toString('hex').toUpperCase()
}
