import { spawnSync } from 'node:child_process'
import { chmod } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { encodeSeccompFilter } from '../../../../agent/src/sandbox/seccomp/seccomp-filter.ts'
import {
  systemCallNumber,
  type Architecture,
} from '../../../../agent/src/sandbox/seccomp/system-calls.ts'
import { temporaryDirectory } from '../../fixture/temporary-directory.ts'
import { asUser, bubblewrap, runCommand, testUsers } from '../fixture/bubblewrap.ts'
import { runFilter } from './run-filter.ts'

const ARCHITECTURE: Architecture = process.arch === 'arm64' ? 'aarch64' : 'x86_64'
const AUDIT = { x86_64: 0xc000003e, aarch64: 0xc00000b7 }[ARCHITECTURE]
const FILTER = encodeSeccompFilter(ARCHITECTURE)
const ALLOW = 0x7fff_0000

interface SocketCall {
  readonly call: 'socket' | 'socketpair'
  readonly args: readonly [family: number, type: number, protocol: number]
}

const numbers = (end: number): number[] => [...Array(end).keys()]

/** Each family, type and protocol of the kernel, by both calls. */
const EVERY_SOCKET: readonly SocketCall[] = (['socket', 'socketpair'] as const).flatMap((call) =>
  numbers(64).flatMap((family) =>
    numbers(16).flatMap((type) =>
      [...numbers(20), 132, 136, 255, 256, 262].map((protocol) => ({
        call,
        args: [family, type, protocol] as const,
      })),
    ),
  ),
)

function isAllowed({ call, args }: SocketCall): boolean {
  const nr = systemCallNumber(call, ARCHITECTURE)
  if (nr === null) throw new Error(`${ARCHITECTURE} has no ${call}`)
  return runFilter(FILTER, { arch: AUDIT, nr, args: args.map(BigInt) }).action === ALLOW
}

/**
 * Makes each socket, tries to reach the listeners in the directory, and binds a name there. Prints
 * a line for each socket that was connected or listens, then the number of sockets, and keeps them
 * until the end of its input.
 */
const REACH = String.raw`
import array, ctypes, json, socket, sys
libc = ctypes.CDLL(None)
directory, calls = sys.argv[1], json.loads(sys.argv[2])
passed = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [1]))]
kept = []
def attempt(call, *values):
    try:
        call(*values)
        return True
    except (OSError, ValueError):
        return False
def reach(name, fd):
    end = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM, 0, fileno=fd)
    kept.append(end)
    end.setblocking(False)
    if attempt(end.bind, f'{directory}/own {name}') and attempt(end.listen):
        print(name, 'listens')
    for kind in 'datagram', 'stream', 'seqpacket':
        path = directory + '/' + kind
        attempt(end.sendto, b'sent', socket.MSG_NOSIGNAL, path)
        attempt(end.sendmsg, [b'handed'], passed, socket.MSG_NOSIGNAL, path)
        if attempt(end.connect, path):
            print(name, 'connects to a', kind)
    # AF_UNSPEC ends the connection of a datagram socket, which then takes messages of every other.
    libc.connect(fd, bytes(16), 16)
for call, args in calls:
    try:
        ends = getattr(socket, call)(*args)
    except OSError:
        continue
    for end in ends if call == 'socketpair' else [ends]:
        reach(f'{call} {args} {len(kept)}', end.detach())
print(len(kept), flush=True)
sys.stdin.read()
`

/**
 * Listens in the directory while the rest of its arguments runs. Prints the lines of the command,
 * what reached the listeners, and the names of the command that can be reached.
 */
const LISTEN = String.raw`
import os, socket, subprocess, sys
directory, command = sys.argv[1], sys.argv[2:]
kinds = dict(datagram=socket.SOCK_DGRAM, stream=socket.SOCK_STREAM, seqpacket=socket.SOCK_SEQPACKET)
listeners = {}
for name, kind in kinds.items():
    listeners[name] = socket.socket(socket.AF_UNIX, kind)
    listeners[name].bind(directory + '/' + name)
    os.chmod(directory + '/' + name, 0o777)
    listeners[name].setblocking(False)
    if name != 'datagram': listeners[name].listen()
pipe = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, pass_fds=[3])
with subprocess.Popen(command, **pipe) as inside:
    for line in inside.stdout:
        print(line, end='')
        if line.strip().isdigit(): break
    for name in sorted(set(os.listdir(directory)) - set(kinds)):
        for kind in kinds.values():
            try:
                socket.socket(socket.AF_UNIX, kind).connect(directory + '/' + name)
                print('outside connects to', name)
            except OSError: pass
    inside.stdin.close()
arrived = set()
try:
    while True:
        text, passed, _, _ = listeners['datagram'].recvmsg(64, 64)
        arrived.add(text.decode() + (' with a descriptor' if passed else ''))
except BlockingIOError: pass
for name in 'stream', 'seqpacket':
    try:
        listeners[name].accept()
        arrived.add(name)
    except BlockingIOError: pass
print('arrived:', ', '.join(sorted(arrived)))
`

const HAS_PYTHON = spawnSync('python3', ['--version']).status === 0

describe.runIf(process.platform === 'linux' && HAS_PYTHON).each(testUsers())(
  'of the sockets that the filter allows, %s',
  (user) => {
    async function reach(calls: readonly SocketCall[], filter?: Buffer) {
      const directory = await temporaryDirectory()
      await chmod(directory, 0o777)
      const words = JSON.stringify(calls.map(({ call, args }) => [call, args]))
      const inside = ['python3', '-c', REACH, directory, words]
      const view = { filter: filter !== undefined, writable: directory }
      return runCommand(
        ['python3', '-c', LISTEN, directory, ...asUser(user), ...bubblewrap(inside, view)],
        filter === undefined ? {} : { filter },
      )
    }

    it('case 67: reaches no name with any, and is reached by none', async () => {
      const allowed = EVERY_SOCKET.filter(isAllowed)

      const { code, stdout, stderr } = await reach(allowed, FILTER)

      expect(stderr).toBe('')
      expect(stdout).toMatch(/^\d+\narrived: \n$/)
      // TCP and UDP of both internet protocols, routes, and the ends of two pairs
      expect(Number.parseInt(stdout, 10)).toBeGreaterThanOrEqual(9)
      expect(code).toBe(0)
    })

    it('case 67: owes it to the filter', async () => {
      const { stdout } = await reach([{ call: 'socketpair', args: [1, 2, 0] }])

      expect(stdout).toMatch(/connects to a datagram/)
      expect(stdout).toMatch(/outside connects to own socketpair/)
      expect(stdout).toMatch(/arrived: handed with a descriptor, sent/)
    })
  },
)
