import { isIPv6 } from 'node:net'
import { endianness } from 'node:os'
import { ipv6Words } from './ipv6-words.ts'

/** One end of a connection. */
export interface TcpEndpoint {
  /** Without the mapping of IPv4 into IPv6. */
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
export type FindSocket = (from: TcpEndpoint, to: TcpEndpoint) => TcpSocket | null

const ESTABLISHED = '01'

/**
 * Reads the kernel's tables, see proc_net_tcp(5), for connections of `end`, or of any end for null.
 * Both ends with their addresses identify a socket, because others may use the same ports on other
 * addresses.
 */
export function readTcpTables(tables: readonly string[], end: TcpEndpoint | null): FindSocket {
  const sockets = new Map<string, TcpSocket>()
  for (const { from, to, socket } of readRows(tables, end === null ? '' : formatEndpoint(end)))
    sockets.set(`${from} ${to}`, socket)
  return (from, to) => sockets.get(`${formatEndpoint(from)} ${formatEndpoint(to)}`) ?? null
}

/** A line of a table, with both ends as `formatEnd` writes them. */
interface Row {
  readonly from: string
  readonly to: string
  readonly socket: TcpSocket
}

/** Reads the lines that hold `wanted`. The tables of UDP have the same columns. */
export function* readRows(tables: readonly string[], wanted: string): Iterable<Row> {
  for (const line of tables.flatMap((table) => table.split('\n'))) {
    // Tables have thousands of lines, most about other connections.
    if (!line.includes(wanted)) continue
    const [, from = '', to = '', state, , , , uid = '', , inode = ''] = line.trim().split(/\s+/)
    const socket = { uid, inode, isEstablished: state === ESTABLISHED }
    yield { from: withoutMapping(from), to: withoutMapping(to), socket }
  }
}

export function formatEndpoint({ address, port }: TcpEndpoint): string {
  const portText = port.toString(16).toUpperCase().padStart(4, '0')
  return `${formatAddress(address)}:${portText}`
}

function formatAddress(address: string): string {
  if (!isIPv6(address)) return formatWord(address.split('.').map(Number))
  const bytes = ipv6Words(address).flatMap((word) => [word >> 8, word & 0xff])
  return [0, 4, 8, 12].map((start) => formatWord(bytes.slice(start, start + 4))).join('')
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
