import { endianness } from 'node:os'
import { describe, expect, it } from 'vitest'
import { readTcpTables } from '../../../../agent/src/host/process-lookup/tcp-table.ts'
import { readUdpTables } from '../../../../agent/src/host/process-lookup/udp-table.ts'

/** A line of the kernel for ends that are written as network words. */
function line(from: string, to: string, inode: number): string {
  const written = [from, to].map((end) => {
    const [words = '', port = ''] = end.split(':')
    return `${words.replaceAll(/.{8}/g, inOrder)}:${port}`
  })
  return `  1: ${written.join(' ')} 07 00000000:00000000 00:00000000 00000000 1000 0 ${inode} 2 0 0`
}

/** The kernel writes each word in the byte order of the processor. */
function inOrder(word: string): string {
  const bytes = word.match(/../g) ?? []
  return (endianness() === 'LE' ? bytes.toReversed() : bytes).join('')
}

const HEAD = '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid'
const NOWHERE = '00000000:0000'

describe('a table of UDP', () => {
  const find = readUdpTables([
    [
      HEAD,
      line('C6120001:9C40', 'C6120001:0035', 11),
      line('00000000:9C40', NOWHERE, 12),
      line('00000000:9C41', NOWHERE, 13),
    ].join('\n'),
    line(`${'0'.repeat(32)}:9C42`, `${'0'.repeat(32)}:0000`, 14),
  ])

  it('has the socket of an address, or else one of any address', () => {
    expect(find({ address: '198.18.0.1', port: 40_000 })?.inode).toBe('11')
    expect(find({ address: '198.18.0.2', port: 40_000 })?.inode).toBe('12')
    expect(find({ address: '198.18.0.2', port: 40_001 })?.inode).toBe('13')
    expect(find({ address: '198.18.0.2', port: 40_002 })?.inode).toBe('14')
    expect(find({ address: '198.18.0.1', port: 40_003 })).toBeNull()
  })
})

describe('a table of TCP', () => {
  it('has IPv6 ends, for connections of any end', () => {
    const documentation = '20010DB8000000000000000000000005'
    const loopback = '00000000000000000000000000000001'
    const find = readTcpTables(
      [HEAD, line(`${loopback}:9C40`, `${documentation}:1F91`, 15)].join('\n').split('\n'),
      null,
    )
    const server = { address: '2001:db8::5', port: 8081 }

    expect(find({ address: '::1', port: 40_000 }, server)?.inode).toBe('15')
    expect(find({ address: '::2', port: 40_000 }, server)).toBeNull()
    expect(find({ address: '::1', port: 40_000 }, { ...server, port: 8082 })).toBeNull()
  })
})
