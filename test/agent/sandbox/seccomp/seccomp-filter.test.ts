import { describe, expect, it } from 'vitest'
import { REFUSALS } from '../../../../agent/src/sandbox/seccomp/refusals.ts'
import { encodeSeccompFilter } from '../../../../agent/src/sandbox/seccomp/seccomp-filter.ts'
import {
  systemCallNumber,
  type Architecture,
  type SystemCall,
} from '../../../../agent/src/sandbox/seccomp/system-calls.ts'
import { runFilter, type FilterRun } from './run-filter.ts'

const ALLOW = 0x7fff_0000
const KILL = 0x8000_0000
const EPERM = 0x5_0001
const ENOSYS = 0x5_0026
const AUDIT: Readonly<Record<Architecture, number>> = { x86_64: 0xc000003e, aarch64: 0xc00000b7 }
const ARCHITECTURES: readonly Architecture[] = ['x86_64', 'aarch64']

const HIGH = 0xffff_ffff_0000_0000n

function runNumber(
  architecture: Architecture,
  nr: number,
  args: readonly bigint[] = [],
): FilterRun {
  const program = encodeSeccompFilter(architecture)
  return runFilter(program, { arch: AUDIT[architecture], nr, args })
}

function run(architecture: Architecture, call: SystemCall, args: readonly bigint[] = []): number {
  const nr = systemCallNumber(call, architecture)
  if (nr === null) throw new Error(`${architecture} has no ${call}`)
  return runNumber(architecture, nr, args).action
}

describe.each(ARCHITECTURES)('the seccomp filter on %s', (architecture) => {
  it('kills a program that calls by the numbers of another machine', () => {
    const program = encodeSeccompFilter(architecture)
    const i386 = 0x4000_0003
    const arm = 0x4000_0028
    const other = AUDIT[architecture === 'x86_64' ? 'aarch64' : 'x86_64']

    for (const arch of [i386, arm, other, 0, 0xffff_ffff])
      for (const nr of [0, 1, 41, 165, 0xffff_ffff])
        expect(runFilter(program, { arch, nr, args: [] }).action).toBe(KILL)
  })

  it.each(REFUSALS.flatMap(({ calls, errno }) => calls.map((call) => ({ call, errno }))))(
    'refuses $call with error $errno, whatever its arguments',
    ({ call, errno }) => {
      const nr = systemCallNumber(call, architecture)
      if (nr === null) return
      for (const value of [0n, 1n, HIGH, 0xffff_ffff_ffff_ffffn])
        expect(runNumber(architecture, nr, Array<bigint>(6).fill(value)).action).toBe(
          0x5_0000 | errno,
        )
    },
  )

  it('answers calls newer than itself as an older kernel does', () => {
    const openTreeAttr = 467

    expect(runNumber(architecture, 466).action).toBe(ALLOW)
    for (const nr of [openTreeAttr, 468, 512, 547, 0x3fff_ffff])
      expect(runNumber(architecture, nr).action).toBe(ENOSYS)
  })

  it('answers without a look at arguments where they do not matter', () => {
    const [read, write, openat, ptrace] =
      architecture === 'x86_64' ? [0, 1, 257, 101] : [63, 64, 56, 117]

    for (const nr of [read, write, openat, ptrace])
      expect(runNumber(architecture, nr, [HIGH])).toEqual({ action: ALLOW, readArguments: false })
  })

  it.each<[string, bigint, bigint, bigint]>([
    ['TCP over IPv4', 2n, 1n, 0n],
    ['TCP over IPv4 by its number', 2n, 1n, 6n],
    ['TCP over IPv6', 10n, 1n, 6n],
    ['UDP over IPv4', 2n, 2n, 0n],
    ['UDP over IPv6 by its number', 10n, 2n, 17n],
    ['TCP with SOCK_CLOEXEC and SOCK_NONBLOCK', 2n, 0x80801n, 0n],
    ['UDP with SOCK_CLOEXEC', 2n, 0x80002n, 17n],
    ['netlink of routes', 16n, 3n, 0n],
    ['netlink of routes with SOCK_CLOEXEC', 16n, 0x80003n, 0n],
    ['TCP with high bits that the kernel ignores', HIGH | 2n, HIGH | 1n, HIGH | 6n],
  ])('allows a socket for %s', (_name, domain, type, protocol) => {
    expect(run(architecture, 'socket', [domain, type, protocol])).toBe(ALLOW)
  })

  it.each<[string, bigint, bigint, bigint]>([
    ['AF_UNSPEC', 0n, 1n, 0n],
    ['AF_UNIX', 1n, 1n, 0n],
    ['AF_UNIX with a high bit', HIGH | 1n, 1n, 0n],
    ['AF_PACKET', 17n, 3n, 0x300n],
    ['AF_ALG', 38n, 5n, 0n],
    ['AF_BLUETOOTH', 31n, 3n, 1n],
    ['AF_VSOCK', 40n, 1n, 0n],
    ['AF_XDP', 44n, 3n, 0n],
    ['AF_SMC', 43n, 1n, 0n],
    ['an unknown family', 0xffff_ffffn, 1n, 0n],
    ['raw IPv4', 2n, 3n, 1n],
    ['raw IPv6', 10n, 3n, 58n],
    ['raw IPv4 with SOCK_CLOEXEC', 2n, 0x80003n, 255n],
    ['raw IPv4 with a high bit', 2n, HIGH | 3n, 1n],
    ['SOCK_PACKET', 2n, 10n, 0x300n],
    ['SOCK_DCCP', 2n, 6n, 33n],
    ['SOCK_SEQPACKET over SCTP', 2n, 5n, 132n],
    ['SCTP as a stream', 2n, 1n, 132n],
    ['MPTCP', 2n, 1n, 262n],
    ['SMC as a stream', 10n, 1n, 256n],
    ['ICMP as datagrams', 2n, 2n, 1n],
    ['ICMPv6 as datagrams', 10n, 2n, 58n],
    ['UDP-Lite', 2n, 2n, 136n],
    ['SCTP with a high bit', 2n, 1n, HIGH | 132n],
    ['netlink of the audit', 16n, 3n, 9n],
    ['netlink of netfilter', 16n, 3n, 12n],
    ['netlink of kernel events', 16n, 2n, 15n],
    ['netlink of netfilter with a high bit', 16n, 3n, HIGH | 12n],
  ])('refuses a socket for %s', (_name, domain, type, protocol) => {
    expect(run(architecture, 'socket', [domain, type, protocol])).toBe(EPERM)
  })

  it('allows pairs of Unix sockets for streams and packets only', () => {
    for (const type of [1n, 5n, 0x80801n, 0x80005n, HIGH | 1n])
      expect(run(architecture, 'socketpair', [HIGH | 1n, type, 0n])).toBe(ALLOW)
    for (const type of [0n, 2n, 3n, 4n, 6n, 10n, 0x80802n, HIGH | 2n, 0xffff_ffffn])
      expect(run(architecture, 'socketpair', [1n, type, 0n])).toBe(EPERM)
    for (const family of [0n, 2n, 10n, 16n, 30n, HIGH | 30n])
      expect(run(architecture, 'socketpair', [family, 1n, 0n])).toBe(EPERM)
  })

  it('allows threads and child processes, and refuses each new namespace', () => {
    const thread = 0x3d_0f00n
    const fork = 0x0120_0011n
    const vfork = 0x4111n
    const namespaces = {
      mount: 0x0002_0000n,
      cgroup: 0x0200_0000n,
      uts: 0x0400_0000n,
      ipc: 0x0800_0000n,
      user: 0x1000_0000n,
      pid: 0x2000_0000n,
      net: 0x4000_0000n,
    }

    for (const flags of [0n, 17n, thread, fork, vfork, HIGH | fork])
      expect(run(architecture, 'clone', [flags])).toBe(ALLOW)
    for (const flag of Object.values(namespaces))
      for (const flags of [flag, flag | fork, flag | HIGH, flag | thread])
        expect(run(architecture, 'clone', [flags])).toBe(EPERM)
  })

  it('refuses to put characters into the input of a terminal, also with high bits set', () => {
    const [TIOCSTI, TIOCLINUX] = [0x5412n, 0x541cn]
    const [TCGETS, TIOCGWINSZ, FIONREAD] = [0x5401n, 0x5413n, 0x541bn]

    for (const request of [TIOCSTI, TIOCLINUX])
      for (const high of [0n, 1n << 32n, HIGH])
        expect(run(architecture, 'ioctl', [0n, high | request, 0n])).toBe(EPERM)
    for (const request of [TCGETS, TIOCGWINSZ, FIONREAD, HIGH | TCGETS])
      expect(run(architecture, 'ioctl', [0n, request, 0n])).toBe(ALLOW)
  })

  it('answers questions for the personality and refuses to change it', () => {
    for (const persona of [0n, 0xffff_ffffn, HIGH])
      expect(run(architecture, 'personality', [persona])).toBe(ALLOW)
    for (const persona of [8n, 0x4_0000n, 0x40_0000n, 0xffff_fffen, HIGH | 8n])
      expect(run(architecture, 'personality', [persona])).toBe(EPERM)
  })

  it('is short enough for the kernel', () => {
    const program = encodeSeccompFilter(architecture)

    expect(program.length % 8).toBe(0)
    expect(program.length / 8).toBeLessThan(256)
  })
})

describe('the seccomp filter', () => {
  it('kills calls of x32 on x86_64, and lets a tracer skip a call', () => {
    for (const nr of [0x4000_0000, 0x4000_0029, 0x4000_0200, 0x8000_0000, 0xffff_fffe])
      expect(runNumber('x86_64', nr).action).toBe(KILL)
    expect(runNumber('x86_64', 0xffff_ffff).action).toBe(ENOSYS)
  })

  it('answers numbers that aarch64 does not have as unknown calls', () => {
    for (const nr of [0x4000_0029, 0xffff_ffff])
      expect(runNumber('aarch64', nr).action).toBe(ENOSYS)
  })
})
