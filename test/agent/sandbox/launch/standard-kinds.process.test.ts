import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { testUsers } from '../fixture/bubblewrap.ts'
import { firstChild, prepareSandbox, PROGRAMS, type TestSandbox } from '../fixture/launch.ts'

const isArm = process.arch === 'arm64'
/** Numbers of system calls, of x64 and arm64. */
const CALLS = {
  epoll: isArm ? 20 : 291,
  eventfd: isArm ? 19 : 290,
  inotify: isArm ? 26 : 294,
  memfd: isArm ? 279 : 319,
  pidfd: 434,
}
const LISTEN = `socket(our $l, PF_INET, SOCK_STREAM, 0); bind($l, sockaddr_in(0, INADDR_LOOPBACK));
  listen($l, 1);`
const UDP = 'socket(our $u, PF_INET, SOCK_DGRAM, 0); bind($u, sockaddr_in(0, INADDR_LOOPBACK));'
const opened = (path: string): string => `sysopen(our $f, '${path}', O_RDWR | O_NOCTTY); fileno $f`

/** Expressions of Perl for a descriptor of a kind that the command may have only by a pipe. */
const CARRIED: Readonly<Record<string, string>> = {
  'a TCP connection': `${LISTEN} socket(our $c, PF_INET, SOCK_STREAM, 0);
    connect($c, getsockname $l); fileno $c`,
  'a listening socket': `${LISTEN} fileno $l`,
  'a UDP socket': `${UDP} fileno $u`,
  'a Unix stream': 'socketpair(our $a, our $b, AF_UNIX, SOCK_STREAM, 0); fileno $a',
  'a Unix socket of datagrams': 'socketpair(our $a, our $b, AF_UNIX, SOCK_DGRAM, 0); fileno $a',
  'an epoll': `syscall(${CALLS.epoll}, 0)`,
  'an eventfd': `syscall(${CALLS.eventfd}, 0, 0)`,
  'an inotify': `syscall(${CALLS.inotify}, 0)`,
  'a process': `syscall(${CALLS.pidfd}, $$ + 0, 0)`,
  'a file in memory': `our $n = 'm'; syscall(${CALLS.memfd}, $n, 0)`,
  'a namespace': "open(our $f, '<', '/proc/self/ns/net'); fileno $f",
  'a path': "sysopen(our $f, '/dev/null/..', 0); sysopen($f, '/etc/passwd', 010000000); fileno $f",
  'a path of a link': "sysopen(our $f, '/proc/self/exe', 010400000); fileno $f",
  'the device /dev/zero': opened('/dev/zero'),
  'the device /dev/urandom': opened('/dev/urandom'),
  'the master of a terminal': opened('/dev/ptmx'),
}

/** Runs a line of shell with a descriptor that Perl makes, and returns its code and output. */
async function run(sandbox: TestSandbox, line: string, number: number, expression: string) {
  sandbox.openGate()
  const script = `use POSIX (); use Socket; use Fcntl; $^F = 1023;
    my $made = do { ${expression} }; defined $made && $made > 2 or die "not made: $!";
    defined POSIX::dup2($made, ${number}) or die $!; exec { $ARGV[0] } @ARGV`
  const words = ['-e', script, '--', ...sandbox.words('sh', '-c', line)]
  const child = spawn('perl', words, { env: {}, stdio: ['ignore', 'pipe', 'pipe'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  await once(child, 'close')
  return { code: child.exitCode, output }
}

const TELL = 'stat -Lc %F'

describe.runIf(process.platform === 'linux').each(testUsers())(
  'a standard descriptor, as %s',
  (user) => {
    it.each(Object.entries(CARRIED))('that is %s becomes a pipe', async (_kind, expression) => {
      const input = await run(await prepareSandbox(user), `${TELL} /dev/fd/0`, 0, expression)
      const line = `exec 3>&1; ${TELL} /dev/fd/3 >&2`
      const output = await run(await prepareSandbox(user), line, 1, expression)

      for (const { output: told } of [input, output])
        expect(told.split('\n').filter((each) => !each.startsWith('cat: '))).toEqual(['fifo', ''])
    })

    it.each<[string, string, string]>([
      ['a pipe', "open(our $f, '-|', 'true'); fileno $f", 'fifo'],
      ['/dev/null', opened('/dev/null'), 'character special file'],
    ])('that is %s is passed on', async (_kind, expression, expected) => {
      const line = `readlink /proc/self/fd/0; ${TELL} /dev/fd/0`
      const { output } = await run(await prepareSandbox(user), line, 0, expression)

      expect(output).toMatch(new RegExp(`^(?:pipe:\\S+|/dev/null)\n${expected}\n`))
    })

    it('that is a directory is refused', async () => {
      const expression = "sysopen(our $f, '/etc', O_RDONLY); fileno $f"

      for (const number of [0, 1, 2]) {
        const { code } = await run(await prepareSandbox(user), 'true', number, expression)
        expect(code).toBe(125)
      }
    })

    it('that is a connection carries both ways', async () => {
      const expression = `${LISTEN} socket(our $c, PF_INET, SOCK_STREAM, 0);
        connect($c, getsockname $l); accept(our $s, $l);
        unless (fork) { syswrite $s, "question\n"; shutdown $s, 1; close $c; close STDIN;
          print STDERR "peer got ", <$s>; exit }
        POSIX::dup2(fileno $c, 1); fileno $c`
      const line = 'read -r word; echo "answer to $word"; exit 4'
      const ended = await run(await prepareSandbox(user), line, 0, expression)

      expect(ended).toEqual({ code: 4, output: 'peer got answer to question\n' })
    })

    it('is let go when the supervisor is killed at once', async () => {
      const sandbox = await prepareSandbox(user)
      const slow = join(sandbox.directory, 'slow')
      sandbox.write('slow', `#!/bin/sh\nsleep 1; exec ${PROGRAMS.env} "$@"\n`)
      chmodSync(slow, 0o755)
      const words = sandbox.words('true').map((word) => (word === PROGRAMS.env ? slow : word))
      const [program = '', ...args] = words
      const child = spawn(program, args, { env: {}, stdio: ['ignore', 'pipe', 'pipe'] })
      child.stdout.resume()
      child.stderr.resume()
      await expect.poll(() => firstChild(child.pid)).not.toBeNull()
      await delay(300)

      child.kill('SIGKILL')

      // Both ends are closed once no process has them.
      await once(child, 'close')
    })

    it('that its reader closes ends the command as outside, without a word', async () => {
      const expression = `socketpair(our $a, our $b, AF_UNIX, SOCK_STREAM, 0); close $b; fileno $a`
      const line = 'head -c 5000000 /dev/zero'
      const ended = await run(await prepareSandbox(user), line, 1, expression)

      expect(ended).toEqual({ code: 141, output: '' })
    })
  },
)
