import { describe, expect, it } from 'vitest'
import { encodeSeccompFilter } from '../../../../agent/src/sandbox/seccomp/seccomp-filter.ts'
import {
  systemCallNumber,
  type Architecture,
  type SystemCall,
} from '../../../../agent/src/sandbox/seccomp/system-calls.ts'
import { asUser, bubblewrap, runCommand, testUsers } from '../fixture/bubblewrap.ts'

const ARCHITECTURE: Architecture = process.arch === 'arm64' ? 'aarch64' : 'x86_64'
const FILTER = encodeSeccompFilter(ARCHITECTURE)

const EPERM = 1
const EINVAL = 22
const ENOTTY = 25
const ENOSYS = 38
const SIGSEGV = 11
const SIGSYS = 31

/** A call with its arguments, and the error that it must end with; 0 for success. */
type Case = readonly [name: string, call: SystemCall, args: readonly string[], errno: number]

const REFUSED: readonly Case[] = [
  ['AF_UNIX', 'socket', ['1', '1', '0'], EPERM],
  ['AF_VSOCK', 'socket', ['40', '1', '0'], EPERM],
  ['AF_ALG', 'socket', ['38', '5', '0'], EPERM],
  ['AF_BLUETOOTH', 'socket', ['31', '3', '1'], EPERM],
  ['AF_PACKET', 'socket', ['17', '3', '768'], EPERM],
  ['a raw socket', 'socket', ['2', '3', '1'], EPERM],
  ['a ping socket', 'socket', ['2', '2', '1'], EPERM],
  ['SCTP', 'socket', ['2', '1', '132'], EPERM],
  ['MPTCP', 'socket', ['2', '1', '262'], EPERM],
  ['netlink of netfilter', 'socket', ['16', '3', '12'], EPERM],
  ['a pair of internet sockets', 'socketpair', ['2', '1', '0', '"\\0" x 8'], EPERM],
  ['a pair of datagram sockets', 'socketpair', ['1', '2', '0', '"\\0" x 8'], EPERM],
  ['a pair of raw Unix sockets', 'socketpair', ['1', '0x80003', '0', '"\\0" x 8'], EPERM],
  ['a user namespace by unshare', 'unshare', ['0x10000000'], EPERM],
  ['a user namespace by clone', 'clone', ['0x10000011', '0', '0', '0', '0'], EPERM],
  ['another namespace by setns', 'setns', ['0', '0'], EPERM],
  ['a mount', 'mount', ['"none"', '"/tmp"', '"tmpfs"', '0', '0'], EPERM],
  ['an unmount', 'umount2', ['"/tmp"', '2'], EPERM],
  ['another root', 'pivot_root', ['"/tmp"', '"/tmp"'], EPERM],
  ['a mount by the new calls', 'fsopen', ['"tmpfs"', '0'], EPERM],
  ['a copy of a mount', 'open_tree', ['-100', '"/"', '1'], EPERM],
  ['a change of a mount', 'mount_setattr', ['-100', '"/"', '0', '"\\0" x 32', '32'], EPERM],
  ['a file by its handle', 'open_by_handle_at', ['-100', '"\\0" x 128', '0'], EPERM],
  ['the session keyring', 'keyctl', ['0', '-3', '0'], EPERM],
  ['a key', 'add_key', ['"user"', '"a"', '"b"', '1', '-3'], EPERM],
  ['a program of the kernel', 'bpf', ['0', '"\\0" x 128', '128'], EPERM],
  ['events of the processor', 'perf_event_open', ['"\\0" x 128', '0', '-1', '-1', '0'], EPERM],
  ['page faults', 'userfaultfd', ['1'], EPERM],
  ['the log of the kernel', 'syslog', ['3', '"\\0" x 64', '64'], EPERM],
  ['a restart', 'reboot', ['0', '0', '0', '0'], EPERM],
  ['another personality', 'personality', ['0x40000'], EPERM],
  ['characters in a terminal', 'ioctl', ['0', '0x5412', '"a"'], EPERM],
  ['characters, with a high bit', 'ioctl', ['0', '0x100005412', '"a"'], EPERM],
  ['a paste in a console', 'ioctl', ['0', '0x541c', '"\\2"'], EPERM],
  ['a ring', 'io_uring_setup', ['8', '"\\0" x 128'], 38],
  ['clone3', 'clone3', ['"\\0" x 88', '88'], ENOSYS],
]

const ALLOWED: readonly Case[] = [
  ['TCP over IPv4', 'socket', ['2', '1', '0'], 0],
  ['TCP over IPv4 with its flags', 'socket', ['2', '0x80801', '6'], 0],
  ['UDP over IPv4', 'socket', ['2', '2', '17'], 0],
  ['netlink of routes', 'socket', ['16', '0x80003', '0'], 0],
  ['a pair of Unix sockets', 'socketpair', ['1', '1', '0', '"\\0" x 8'], 0],
  ['a pair for packets', 'socketpair', ['1', '0x80805', '0', '"\\0" x 8'], 0],
  ['the personality', 'personality', ['0xffffffff'], 0],
]

/** Without the filter a process may do these, or gets an error of the kernel itself. */
const OTHERWISE: readonly Case[] = [
  ['AF_UNIX', 'socket', ['1', '1', '0'], 0],
  ['a user namespace by unshare', 'unshare', ['0x10000000'], 0],
  ['characters in no terminal', 'ioctl', ['0', '0x5412', '"a"'], ENOTTY],
  ['characters, with a high bit', 'ioctl', ['0', '0x100005412', '"a"'], ENOTTY],
  ['another personality', 'personality', ['0x40000'], 0],
  ['clone3', 'clone3', ['"\\0" x 8', '8'], EINVAL],
]

/** Makes the calls in one perl, which has `syscall`, and returns the error of each. */
async function errorsOf(
  run: (program: readonly string[]) => readonly string[],
  cases: readonly Case[],
  filter?: Buffer,
): Promise<Record<string, number>> {
  const script = cases.map(([, call, args]) => {
    const nr = systemCallNumber(call, ARCHITECTURE)
    if (nr === null) throw new Error(`${ARCHITECTURE} has no ${call}`)
    // perl passes a number, or the address of a string in a variable.
    const variables = args.map((value, index) => `my $a${index} = ${value};`).join(' ')
    const names = args.map((_, index) => `$a${index}`)
    return `{ ${variables} print syscall(${[nr, ...names].join(', ')}) == -1 ? $! + 0 : 0, "\\n" }`
  })
  const command = run(['perl', '-e', script.join('\n')])
  const { stdout, stderr } = await runCommand(command, filter === undefined ? {} : { filter })
  expect(stderr).toBe('')
  const errors = stdout.trim().split('\n').map(Number)
  return Object.fromEntries(cases.map(([name], index) => [name, errors[index] ?? Number.NaN]))
}

function expected(cases: readonly Case[]): Record<string, number> {
  return Object.fromEntries(cases.map(([name, , , errno]) => [name, errno]))
}

/** A program of x86_64 that asks for its process id by the call of i386, and ends with 0. */
const I386_CALL = [
  // ELF header, and one segment at 0x400000 that holds the whole file
  '7f454c4602010100000000000000000002003e00010000007800400000000000',
  '4000000000000000000000000000000000000000400038000100000000000000',
  '0100000005000000000000000000000000004000000000000000400000000000',
  '880000000000000088000000000000000010000000000000',
  // mov eax, 20; int 0x80; xor edi, edi; mov eax, 60; syscall
  'b814000000cd8031ffb83c0000000f05',
].join('')

describe.runIf(process.platform === 'linux').each(testUsers())('under the filter, %s', (user) => {
  const inSandbox = (program: readonly string[]): readonly string[] => [
    ...asUser(user),
    ...bubblewrap(program, { filter: true }),
  ]
  const withoutFilter = (program: readonly string[]): readonly string[] => [
    ...asUser(user),
    ...bubblewrap(program, { filter: false }),
  ]

  it('does not get the calls that the rules refuse', async () => {
    expect(await errorsOf(inSandbox, REFUSED, FILTER)).toEqual(expected(REFUSED))
  })

  it('gets the calls beside them', async () => {
    expect(await errorsOf(inSandbox, ALLOWED, FILTER)).toEqual(expected(ALLOWED))
  })

  it('owes the refusals to the filter', async () => {
    expect(await errorsOf(withoutFilter, OTHERWISE)).toEqual(expected(OTHERWISE))
  })

  it.runIf(process.arch === 'x64')('is killed by a call of x32', async () => {
    const X32_GETPID = 0x4000_0027
    const program = ['perl', '-e', `syscall(${X32_GETPID}); print "alive"`]

    const ended = await runCommand(inSandbox(program), { filter: FILTER })
    const without = await runCommand(withoutFilter(program))

    expect(ended).toMatchObject({ code: 128 + SIGSYS, stdout: '' })
    expect(without).toMatchObject({ code: 0, stdout: 'alive' })
  })

  it.runIf(process.arch === 'x64')('is killed by a call of i386', async () => {
    const write = `open F, '>', '/run/call'; print F pack('H*', '${I386_CALL}');`
    const program = ['perl', '-e', `${write} close F; chmod 0755, '/run/call'; exec '/run/call'`]

    const ended = await runCommand(inSandbox(program), { filter: FILTER })
    const without = await runCommand(withoutFilter(program))

    // A kernel without the calls of i386 takes them for a fault, with or without a filter.
    expect(ended.code).toBe(128 + (without.code === 0 ? SIGSYS : SIGSEGV))
  })
})
