import { once } from 'node:events'
import { chmodSync, closeSync, copyFileSync, openSync, readdirSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { userInfo } from 'node:os'
import { describe, expect, it } from 'vitest'
import { testUsers } from '../sandbox/fixture/bubblewrap.ts'
import { endOf, untilPrinted } from '../sandbox/fixture/machine.ts'
import type { UserMachine } from '../sandbox/fixture/machine-process.ts'
import { attackBundle, machineOfGroup, put, runProbes } from '../sandbox/fixture/sandbox-attack.ts'

const EPERM = '1'
const ENOSYS = '38'

/** A perl program that makes calls and prints the error of each, or `done`. */
function calls(...each: readonly string[]): string {
  const lines = each.map((call) => `print((${call}) ? "done" : $!+0, "\\n");`)
  return `perl -e 'use Socket; ${lines.join(' ')}'`
}

/** Of x86-64 and of ARM64. */
const [PTRACE, IO_URING, PERSONALITY] = process.arch === 'arm64' ? [117, 425, 92] : [101, 425, 135]
const BWRAP = 'bwrap --ro-bind / / --unshare-user --unshare-net true'

const PROBES = {
  interfaces:
    'for c in "ip link set lo down" "ip addr add 203.0.113.9/32 dev lo" "ip route flush table ' +
    'local"' +
    ' "ip link add dummy0 type dummy" "nft flush ruleset" "nft list ruleset" ' +
    '"tc qdisc add dev lo root netem delay 10s"; do $c >/dev/null 2>&1 && echo "done: $c"; done; ' +
    'curl -s http://10.1.2.3/; curl -s http://allowed.test/',
  namespaces:
    'for c in "unshare --user" "unshare --user --net" "unshare --mount" "unshare --pid --fork" ' +
    `"nsenter --net=/proc/1/ns/net true" "${BWRAP}"; do ` +
    '$c true >/dev/null 2>&1 && echo "done: $c"; done; echo tried',
  'host sockets':
    'ls -A /run; ls -A /run/user /var/run/docker.sock /tmp/.X11-unix 2>/dev/null; ' +
    calls(
      'socket(S,1,1,0) && connect(S,sockaddr_un("/var/run/docker.sock"))',
      'socket(S,1,1,0) && connect(S,sockaddr_un("/run/dbus/system_bus_socket"))',
    ),
  'abstract socket': calls('socket(S,1,1,0) && connect(S,sockaddr_un("\\0palisade-attack"))'),
  'workspace socket': calls(
    'socket(S,1,1,0) && connect(S,sockaddr_un("host.sock"))',
    'socket(S,1,2,0) && bind(S,sockaddr_un("own.sock"))',
    'socketpair(A,B,1,1,0)',
  ),
  families: calls('socket(S,40,1,0)', 'socket(S,38,5,0)', 'socket(S,31,3,1)', 'socket(S,17,3,768)'),
  'old calls': calls(`do { my $p = "\\0" x 128; syscall(${IO_URING},8,$p) >= 0 }`),
  x32: 'perl -e "syscall(0x40000000 + 39) == -1 and die; print q(done)"',
  descriptors: 'ls /proc/self/fd | tr "\\n" " "',
  proc:
    'ls -A /proc/1/root/root /proc/self/root/root /proc/self/root/home; ' +
    'for p in /proc/[0-9]*; ' +
    'do tr "\\0" "\\n" <$p/environ | grep -aE "^(SECRET|PALISADE_AGENT_SOCKET)="; ' +
    // The pipe in place of a descriptor shows its name, which leads nowhere inside.
    'ls -l $p/cwd $p/fd | grep -aE "/agent|docker" | grep -vE "/(output|errors)$"; done; ' +
    'ls /proc/self/fd/1/.. $(readlink /proc/self/fd/1); ls -d /proc/[0-9]* | wc -l',
  terminal: calls('ioctl(STDIN,0x5412,my $x = "x")', 'ioctl(STDIN,0x541c,my $y = "\\2")'),
  privileges:
    'grep -E "^(NoNewPrivs|CapEff|CapPrm|CapBnd|CapInh|CapAmb|Seccomp):" /proc/self/status',
  personality: calls(`syscall(${PERSONALITY},0x40000) >= 0`),
} as const

/** Listens outside, on a name in the abstract namespace and on a file in the workspace. */
async function listenOutside(path: string): Promise<Server> {
  const server = createServer((socket) => socket.end('reached'))
  server.listen(path)
  await once(server, 'listening')
  return server
}

async function prepare(machine: UserMachine) {
  const path = join(machine.project, 'host.sock')
  const servers = [await listenOutside(path), await listenOutside('\0palisade-attack')]
  chmodSync(path, 0o777)
  try {
    const env = { SECRET: 'x' }
    return { probes: await runProbes(machine, PROBES, { env }), seen: await machine.look() }
  } finally {
    for (const server of servers) server.close()
  }
}

describe.each(testUsers())('the namespaces of a sandbox of %s', (user) => {
  const scene = machineOfGroup(user, (project) => attackBundle(project), prepare)

  it('case 63: lets no interface, route or filter be changed', () => {
    const { probes, seen } = scene().found
    expect(probes.interfaces.output).not.toContain('done')
    expect(probes.interfaces.output.endsWith('yes')).toBe(true)
    expect(seen.dialled).toEqual(['203.0.114.7:80'])
  })

  it('case 64: makes no further namespace', () => {
    expect(scene().found.probes.namespaces.output).toBe('tried')
  })

  it('case 65: reaches no socket of the machine', async () => {
    const { machine, found } = scene()
    expect(found.probes['host sockets'].output).toBe(`palisade\n${EPERM}\n${EPERM}`)
    const { agent } = await runProbes(machine, {
      agent:
        `ls ${machine.agentDir}; ` +
        `curl -s --unix-socket ${machine.agentDir}/agent.sock http://x/`,
    })
    expect(agent.code).not.toBe(0)
    expect(agent.output).toMatch(/No such file/)
  })

  it('case 66: reaches no abstract socket', () => {
    expect(scene().found.probes['abstract socket'].output).toBe(EPERM)
  })

  it('case 67: uses no socket file in the workspace, but pairs', () => {
    const { output } = scene().found.probes['workspace socket']
    expect(output).toBe(`${EPERM}\n${EPERM}\ndone`)
  })

  it('case 68: gets no socket of another family, no ring and no call of another interface', () => {
    const { probes } = scene().found
    expect(probes.families.output.split('\n')).toEqual([EPERM, EPERM, EPERM, EPERM])
    expect(probes['old calls'].output).toBe(ENOSYS)
    expect(probes.x32.output).not.toContain('done')
    expect(probes.personality.output).toBe(EPERM)
  })

  it('case 69: inherits no descriptor', async () => {
    const { machine, found } = scene()
    // The last one is that of ls.
    expect(found.probes.descriptors.output).toBe('0 1 2 3')
    const folder = openSync('/', 'r')
    try {
      const child = machine.start(
        ['--', 'sh', '-c', 'ls /proc/self/fd | tr "\\n" " "; ls /dev/fd/4/'],
        {
          stdio: ['ignore', 'pipe', 'pipe', 'ignore', folder],
        },
      )
      const { stdout, stderr } = await endOf(child)
      expect(stdout).toBe('0 1 2 3 ')
      expect(stderr).toContain('No such file')
    } finally {
      closeSync(folder)
    }
  })

  it('case 70: sees no process, environment or file of the machine through /proc', async () => {
    const { machine, found } = scene()
    const lines = found.probes.proc.output.split('\n')
    expect(lines.filter((line) => !/No such file|cannot access|^$|^\/proc/.test(line))).toEqual([
      expect.stringMatching(/^\d{1,2}$/),
    ])
    const { pid = 0 } = machine.agent
    const { signal, trace } = await runProbes(machine, {
      signal: `kill -0 ${pid}`,
      trace: calls(`syscall(${PTRACE},16,${pid},0,0) == 0`),
    })
    expect(signal.code).not.toBe(0)
    expect(trace.output).toBe('3')
    expect(machine.agent.exitCode).toBeNull()
  })

  it('case 71: types nothing into a terminal', () => {
    expect(scene().found.probes.terminal.output).toBe(`${EPERM}\n${EPERM}`)
  })

  it('case 73: gains no privilege by a set-user-ID program or a capability', async () => {
    const { machine, found } = scene()
    const status = Object.fromEntries(
      found.probes.privileges.output.split('\n').map((line) => line.split(/:\s*/)),
    ) as Record<string, string>
    expect(status).toMatchObject({ NoNewPrivs: '1', Seccomp: '2', CapEff: '0'.repeat(16) })
    expect(status['CapPrm']).toBe('0'.repeat(16))
    expect(status['CapBnd']).toBe('0'.repeat(16))
    const copy = join(machine.project, 'id')
    copyFileSync('/usr/bin/id', copy)
    chmodSync(copy, 0o4755)
    const own = user === 'ordinary' && userInfo().uid === 0 ? 65_534 : userInfo().uid
    const { id } = await runProbes(machine, { id: './id -u' })
    expect(id.output).toBe(String(own))
  })

  it('case 104: shares no loopback, process or private file with another sandbox', async () => {
    const { machine } = scene()
    const serve =
      'use IO::Socket::INET; $| = 1; open(F, ">/tmp/mine"); open(G, ">/dev/shm/mine"); ' +
      'my $l = IO::Socket::INET->new(Listen => 5, LocalAddr => "127.0.0.1:4567") or die; ' +
      'print "ready\\n"; sleep 1 while ! -e "over"'
    const child = machine.start(['--', 'perl', '-e', serve])
    const ended = endOf(child)
    await untilPrinted(child)
    const { other } = await runProbes(machine, {
      other:
        'ls -A /tmp /dev/shm | grep mine; curl -s http://127.0.0.1:4567/ || echo "curl $?"; ' +
        'cat /proc/[0-9]*/comm | grep -c perl',
    })
    put(machine, 'over', '')
    expect(await ended).toMatchObject({ code: 0 })
    expect(other.output).toMatch(/^curl 7\n0$/)
  })
})

describe.each(testUsers())('a sandbox of %s', (user) => {
  const scene = machineOfGroup(
    user,
    (project) => attackBundle(project),
    async () => null,
  )

  it('case 103: changes no part of Palisade, and takes over no variable that is code', async () => {
    const { machine } = scene()
    const { place, bin, shown, code, path } = await runProbes(
      machine,
      {
        place: `ls ${machine.agentDir}; echo x >${machine.agentDir}/x`,
        bin: 'echo x >"$(command -v palisade)"; rm -f "$(command -v palisade)"',
        shown:
          'p=$(sed -n "s/^exec .* .\\(.*\\)\\/palisade.cjs. .*/\\1/p" "$(command -v palisade)"); ' +
          'ls "$p"/palisade.cjs >/dev/null && echo there; echo x >"$p"/x; ' +
          'echo x >>"$p"/palisade.cjs',
        code: 'env | grep -E "^(NODE_OPTIONS|LD_|BASH_ENV|PERL5|GIT_)" || echo absent',
        path: 'palisade check read /x',
      },
      { env: { NODE_OPTIONS: '--no-warnings', PERL5LIB: '/x', GIT_SSH_COMMAND: 'x' } },
    )
    expect(place.output).toMatch(/No such file[^]*(No such file|nonexistent)/)
    expect(bin.output).toMatch(/Read-only file system[^]*busy/)
    expect(shown.output).toMatch(/^there\n[^]*Read-only file system[^]*(Read-only|denied)/)
    expect(code.output).toBe('absent')
    expect(path.output).toMatch(/^deny/)
    expect(readdirSync(machine.agentDir)).not.toContain('x')
  })
})
