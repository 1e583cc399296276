import { lint } from '@palisade/policy-analysis'
import { PolicyError, type PolicySet } from '@palisade/policy-core'
import { describe, expect, it } from 'vitest'
import { policy, rule } from '../../policy-core/policies.ts'
import { allow, deny, found, of, read, write } from './sets.ts'

describe('lint', () => {
  it.each<[string, PolicySet, string[]]>([
    [
      'a rule whose resources are all denied',
      of(allow('a', 'api.test', 'b.test'), deny('d', '**.test')),
      ['shadowed a <- d **.test'],
    ],
    [
      'one denied resource of several',
      of(allow('a', 'api.test', 'b.example'), deny('d', '*.test')),
      ['shadowed a api.test <- d *.test'],
    ],
    ['a deny of another port', of(allow('a', 'a.test:1'), deny('d', 'a.test:2')), []],
    ['a deny of one port', of(allow('a', 'a.test'), deny('d', 'a.test:2')), []],
    [
      'a deny of one action of two',
      of(rule('a', 'allow', ['connect:tcp', 'connect:udp'], 'a.test'), deny('d', 'a.test')),
      ['shadowed a a.test <- d a.test'],
    ],
    [
      'a range inside a denied range',
      of(allow('a', '10.1.0.0/16'), deny('d', '10.0.0.0/8')),
      ['shadowed a 10.1.0.0/16 <- d 10.0.0.0/8'],
    ],
    [
      'a path pattern inside a denied one',
      of(rule('a', 'allow', read, '/d/*/x/k*'), rule('d', 'deny', read, '/d/**/k*')),
      ['shadowed a /d/*/x/k* <- d /d/**/k*'],
    ],
    [
      'an allow inside a wider allow',
      of(allow('a', '**.b.test', 'b.test'), allow('c', 'x.b.test:443')),
      ['redundant c x.b.test:443 <- a **.b.test'],
    ],
    [
      'a deny inside a wider deny',
      of(deny('a', '10.0.0.0/8'), deny('c', '10.1.2.3')),
      ['redundant c 10.1.2.3 <- a 10.0.0.0/8'],
    ],
    [
      'a narrow allow that opens a protected address',
      of(allow('a', '168.0.0.0/8', '168.63.129.16')),
      ['opens_protected a 168.63.129.16'],
    ],
    [
      'a narrow allow that opens addresses that embed a protected one',
      of(allow('a', '::/96', '::/104')),
      ['protected_address a ::/104', 'protected_address a ::/96'],
    ],
    [
      'the later of two equal patterns in different spellings',
      of(allow('a', 'Bücher.test'), allow('c', 'xn--bcher-kva.test.')),
      ['duplicate_resource c xn--bcher-kva.test. <- a Bücher.test'],
    ],
    [
      'a resource twice in a rule',
      of(allow('a', '192.0.2.1', '::ffff:192.0.2.1')),
      ['duplicate_resource a ::ffff:192.0.2.1 <- a 192.0.2.1'],
    ],
    [
      'a resource repeated by a rule with more actions, in either order',
      of(
        allow('a', 'a.test:1'),
        rule('b', 'allow', ['connect:tcp', 'connect:udp'], 'a.test:1', 'b.test:1'),
        rule('c', 'allow', ['connect:udp'], 'b.test:1'),
      ),
      [
        'duplicate_resource a a.test:1 <- b a.test:1',
        'duplicate_resource c b.test:1 <- b b.test:1',
      ],
    ],
    ['a domain beside its wildcard', of(allow('a', '*.b.test')), ['apex_not_covered a *.b.test']],
    ['a domain allowed beside its wildcard', of(allow('a', '*.b.test', 'b.test:443')), []],
    ['a domain denied beside its wildcard', of(allow('a', '*.b.test'), deny('d', 'b.test')), []],
    [
      'a domain that a deny leaves open',
      of(allow('a', '**.test', 'test'), deny('d', '**.b.test')),
      ['deny_without_apex d **.b.test <- a **.test'],
    ],
    [
      'a domain that a deny leaves open to every address',
      of(allow('a', '0.0.0.0/0'), deny('d', '**.b.test')),
      ['too_broad a 0.0.0.0/0', 'deny_without_apex d **.b.test <- a 0.0.0.0/0'],
    ],
    [
      'a deny of every address after an allow of every address',
      of(allow('a', '0.0.0.0/0'), deny('d', '*.b.test', '0.0.0.0/0')),
      ['shadowed a 0.0.0.0/0 <- d 0.0.0.0/0', 'too_broad a 0.0.0.0/0'],
    ],
    [
      'deeper names that a deny leaves open',
      of(allow('a', '**.b.test', 'b.test'), deny('d', '*.c.b.test', 'c.b.test')),
      ['deny_one_level d *.c.b.test <- a **.b.test'],
    ],
    [
      'a directory without what is in it',
      of(rule('a', 'allow', ['read', 'write'], '/tmp/build')),
      ['directory_alone a /tmp/build'],
    ],
    [
      'a denied directory without what is in it',
      of(rule('a', 'allow', read, '/work/**'), rule('d', 'deny', read, '/work/secrets')),
      ['directory_alone d /work/secrets <- a /work/**'],
    ],
    [
      'a directory that is denied as a whole by another pattern',
      of(
        rule('a', 'allow', read, '/work/**'),
        rule('d', 'deny', read, '/work/secrets', '/work/secrets/**'),
      ),
      ['redundant d /work/secrets <- d /work/secrets/**'],
    ],
    [
      'a directory beside allows of what is in it',
      of(rule('a', 'allow', read, '/tmp/build', '/tmp/build/*', '/srv/data', '/srv/data/**')),
      ['redundant a /srv/data <- a /srv/data/**'],
    ],
    [
      'paths that are likely files',
      of(
        rule('a', 'allow', read, '/etc/hosts', '/usr/bin/git', '/w/Makefile', '/w/LICENSE'),
        rule('b', 'allow', read, '/w/a.txt', '/w/.env', '/w/Dockerfile', '/w/x*', '/w/lockfile'),
        rule('d', 'deny', read, '/other/place'),
      ),
      [],
    ],
    [
      'deeper paths that a deny leaves open',
      of(rule('a', 'allow', read, '/d/**'), rule('d', 'deny', read, '/d/s/*', '/d/t*')),
      ['deny_one_level d /d/s/* <- a /d/**'],
    ],
    [
      'a deny of one level with a deny of deeper ones',
      of(
        rule('a', 'allow', read, '/d/**', '/e/*'),
        rule('d', 'deny', read, '/d/s/*', '/d/s/*/*/**', '/d/**/x/**/*', '/e/*'),
      ),
      ['shadowed a /e/* <- d /e/*'],
    ],
    [
      'a deny of one level with an explicit allow below it',
      of(allow('a', '**.b.test', 'x.y.c.b.test'), deny('d', '*.c.b.test', 'c.b.test')),
      ['apex_not_covered a **.b.test', 'redundant a x.y.c.b.test <- a **.b.test'],
    ],
    [
      'a deny of TCP where UDP is allowed',
      of(
        rule('a', 'allow', ['connect:tcp', 'connect:udp'], '**.b.test', 'b.test'),
        deny('d', 'c.b.test', 'e.b.test:25'),
      ),
      ['deny_one_action d c.b.test <- a **.b.test'],
    ],
    [
      'a domain that a deny of every port leaves open on one port',
      of(allow('a', '**.b.test:443', 'b.test:443'), deny('d', '**.c.b.test')),
      ['deny_without_apex d **.c.b.test <- a **.b.test:443'],
    ],
    [
      'deeper names that a deny of every port leaves open on one port',
      of(allow('a', '**.b.test:443', 'b.test'), deny('d', '*.c.b.test', 'c.b.test')),
      ['deny_one_level d *.c.b.test <- a **.b.test:443'],
    ],
    [
      'deeper names whose one open port is denied',
      of(
        allow('a', '**.b.test:443', 'b.test'),
        deny('d', '*.c.b.test', '**.c.b.test:443', 'c.b.test'),
      ),
      [],
    ],
    [
      'a second allow when the port of the first is denied',
      of(
        allow('a', '**.b.test:22', 'b.test'),
        allow('b', '**.b.test:443'),
        deny('d', '*.c.b.test', '**.c.b.test:22', 'c.b.test'),
      ),
      ['deny_one_level d *.c.b.test <- b **.b.test:443'],
    ],
    [
      'an allow and a deny for different ports',
      of(allow('a', '**.b.test:22', 'b.test'), deny('d', '*.c.b.test:443', 'c.b.test')),
      [],
    ],
    [
      'a deny of localhost, which an allow of a name never opens',
      of(allow('a', '**.localhost:443'), deny('d', '*.a.localhost')),
      ['protected_name a **.localhost:443'],
    ],
    [
      'a deny of TCP on every port where HTTP/3 is allowed',
      of(
        rule('a', 'allow', ['connect:tcp', 'connect:udp'], '**.b.test:443', 'b.test'),
        deny('d', '**.c.b.test', 'c.b.test'),
      ),
      [
        'deny_one_action d **.c.b.test <- a **.b.test:443',
        'deny_one_action d c.b.test <- a **.b.test:443',
      ],
    ],
    [
      'a deny of TCP where UDP is allowed for another service',
      of(
        rule('a', 'allow', ['connect:tcp', 'connect:udp'], '**.b.test:53', 'b.test:53'),
        deny('d', '**.c.b.test', 'c.b.test'),
      ),
      [],
    ],
    [
      'a deny of reads where writes are allowed',
      of(
        rule('a', 'allow', ['read', 'write'], '~/**'),
        rule('d', 'deny', read, '~/.ssh/**', '~/.aws/**'),
        rule('e', 'deny', write, '~/.aws/**', '~/bin/**'),
      ),
      ['deny_one_action d ~/.ssh/** <- a ~/**'],
    ],
    [
      'a deny of every address beside allowed names',
      of(allow('a', 'a.test'), deny('d', '0.0.0.0/0', '::/0')),
      ['deny_every_address d 0.0.0.0/0 <- a a.test'],
    ],
    ['a deny of every IPv6 address', of(allow('a', 'a.test'), deny('d', '::/0')), []],
    ['a domain that a deny leaves closed', of(allow('a', 'c.test'), deny('d', '**.b.test')), []],
    [
      'one star where a deny suggests two',
      of(rule('a', 'allow', read, '/d/*'), rule('d', 'deny', read, '/d/p/secret/**')),
      ['single_star a /d/* <- d /d/p/secret/**'],
    ],
    [
      'one star in a name where a deny suggests two',
      of(allow('a', '*.b.test', 'b.test'), deny('d', 'x.y.b.test')),
      ['single_star a *.b.test <- d x.y.b.test'],
    ],
    [
      'one star where the deny narrows another allow',
      of(
        rule('a', 'allow', read, '/d/*', '/d/p/**/k'),
        rule('d', 'deny', read, '/d/p/secret/**', '/d/p'),
      ),
      [],
    ],
    [
      'one star beside an explicit allow of deeper paths',
      of(rule('a', 'allow', read, '/d/*', '/d/p/src/**')),
      [],
    ],
    [
      'names that are too broad',
      of(allow('a', '**.com', '*.github.io', '**.internal', 'internal')),
      ['too_broad a **.com', 'too_broad a *.github.io'],
    ],
    [
      'names that are too broad below several labels',
      of(allow('a', '**.core.windows.net', '*.core.windows.net', 'core.windows.net')),
      [
        'too_broad a **.core.windows.net',
        'redundant a *.core.windows.net <- a **.core.windows.net',
      ],
    ],
    ['private names of one label', of(allow('a', '**.svc', 'svc', '*.consul', 'consul')), []],
    [
      'ranges that are too broad',
      of(allow('a', '0.0.0.0/0'), allow('b', '2000::/3'), allow('c', '64:ff9b::/96')),
      ['too_broad a 0.0.0.0/0', 'too_broad b 2000::/3', 'too_broad c 64:ff9b::/96'],
    ],
    [
      'parts of the range of an IPv6 gateway that are too broad',
      of(allow('a', '64:ff9b::/97', '64:ff9b::8000:0/103', '2002:8000::/17')),
      ['too_broad a 2002:8000::/17', 'too_broad a 64:ff9b::/97', 'too_broad a 64:ff9b::8000:0/103'],
    ],
    [
      'parts of the range of an IPv6 gateway with a single purpose',
      of(allow('a', '64:ff9b::a00:0/104', '64:ff9b::e000:0/100', '2002:a00::/24')),
      ['opens_protected a 64:ff9b::e000:0/100'],
    ],
    [
      'ranges with a single purpose',
      of(allow('a', '224.0.0.0/4', 'fc00::/7', '10.0.0.0/8')),
      ['unreachable_address a 224.0.0.0/4', 'protected_address a fc00::/7'],
    ],
    [
      'paths that are too broad',
      of(rule('a', 'allow', read, '/**'), rule('d', 'deny', write, '/**')),
      ['too_broad a /**'],
    ],
    [
      'protected addresses in a range',
      of(allow('a', '100.64.0.0/10')),
      ['protected_address a 100.64.0.0/10'],
    ],
    [
      'protected addresses in a range that are opened',
      of(allow('a', '100.64.0.0/10', '100.100.100.200')),
      ['opens_protected a 100.100.100.200'],
    ],
    ['localhost', of(allow('a', 'localhost:80')), ['protected_name a localhost:80']],
    [
      'localhost that is opened',
      of(allow('a', 'localhost:80', '127.0.0.1:80')),
      ['opens_protected a 127.0.0.1:80'],
    ],
    [
      'localhost that is opened on another port',
      of(allow('a', 'localhost:80', '127.0.0.1:81')),
      ['opens_protected a 127.0.0.1:81', 'protected_name a localhost:80'],
    ],
    [
      'localhost that is opened on every port',
      of(allow('a', 'localhost:80', '127.0.0.1')),
      ['opens_protected a 127.0.0.1'],
    ],
    [
      'localhost on every port that is opened on one',
      of(allow('a', 'localhost', '127.0.0.1:81')),
      ['opens_protected a 127.0.0.1:81'],
    ],
    [
      'confusable hosts, except in ASCII',
      of(allow('a', 'аpple.test', 'xn--80ak6aa92e.test', 'XN--80AK6AA92E.org')),
      ['confusable_host a аpple.test'],
    ],
    [
      'a confusable label beside the same label in ASCII',
      of(allow('a', 'аpple.xn--pple-43d.test')),
      ['confusable_host a аpple.xn--pple-43d.test'],
    ],
    ['hosts in one script', of(allow('a', '例えカナkana.test', 'пример.test', 'bücher.test')), []],
    [
      'paths that are neither readable nor writable',
      of(
        rule('w', 'allow', write, '/out/**'),
        rule('r', 'allow', read, '/out/*/**'),
        rule('d', 'deny', write, '/out'),
      ),
      ['directory_alone d /out <- w /out/**'],
    ],
    [
      'paths below the home that are neither readable nor writable',
      of(
        rule('w', 'allow', write, '~/out/**'),
        rule('r', 'allow', read, '~/out/*/**'),
        rule('d', 'deny', write, '~/out'),
      ),
      ['directory_alone d ~/out <- w ~/out/**'],
    ],
    [
      'writes without reads',
      of(rule('w', 'allow', write, '/t/**', '/u/*'), rule('r', 'allow', read, '/t/*', '/u/**')),
      ['write_without_read w /t/**'],
    ],
    [
      'a write covered by several reads together',
      of(rule('w', 'allow', write, '/t/**'), rule('r', 'allow', read, '/t', '/t/*', '/t/*/*/**')),
      [],
    ],
    [
      'paths that differ by letter case',
      of(rule('a', 'allow', read, '/Data'), rule('d', 'deny', read, '/data')),
      ['similar_resource d /data <- a /Data'],
    ],
    [
      'both spellings in one rule',
      of(rule('a', 'allow', read, '/Data', '/data')),
      ['directory_alone a /data'],
    ],
    [
      'names that differ by letter case',
      {
        policies: [
          policy(
            'p',
            { ...allow('a', 'a.test'), name: 'X' },
            { ...allow('b', 'b.test'), name: 'x' },
          ),
        ],
      },
      ['similar_name a <- b'],
    ],
    [
      'repeated ids',
      {
        policies: [
          policy('p', allow('a', 'a.test'), { ...allow('a', 'b.test'), name: 'other' }),
          policy('q'),
          { ...policy('q'), name: 'second' },
        ],
      },
      ['repeated_id a <- a', 'repeated_id q <- q'],
    ],
    [
      'wildcards below a name of maximal length',
      of(allow('a', `*.${'a.'.repeat(124)}test`)),
      [`matches_nothing a *.${'a.'.repeat(124)}test`],
    ],
  ])('gives the expected findings for %s', (_, set, expected) => {
    expect(found(set)).toEqual(expected)
  })

  it('compares rules only with those for the same teams', () => {
    const team = (id: string, teams: string[], ...rules: ReturnType<typeof rule>[]) => ({
      ...policy(id, ...rules),
      scope: { teams },
    })
    const covers = (teams: string[], otherTeams: string[]) =>
      found({
        policies: [
          team('p', teams, allow('a', 'a.test')),
          team('q', otherTeams, deny('d', 'a.test')),
        ],
      })

    expect(covers(['x'], ['y'])).toEqual([])
    expect(covers([], ['y'])).toEqual([])
    expect(covers(['x'], ['Y', 'X'])).toEqual(['shadowed a a.test <- d a.test'])
    expect(covers(['x'], [])).toEqual(['shadowed a a.test <- d a.test'])
  })

  it('compares org rules with org rules, and user rules with both', () => {
    const policies = [policy('p', allow('a', 'a.test'), deny('b', 'b.test'))]
    const local = [policy('l', deny('c', 'a.test', 'b.test'), allow('e', 'e.test'))]

    expect(found({ policies, local })).toEqual([
      'duplicate_resource c b.test <- b b.test',
      'inactive e',
    ])
  })

  it('reports the same for `~` whatever the home directory', () => {
    const rules = [
      rule('a', 'allow', read, '~/work/x', '/home/dev/work/y'),
      rule('d', 'deny', read, '~/work/**', '/**/x'),
    ]

    expect(found(of(...rules))).toEqual(['shadowed a ~/work/x <- d ~/work/**'])
    expect(found({ ...of(...rules), home: '/home/dev' })).toEqual(['shadowed a <- d ~/work/**'])
  })

  it('folds letter case on a case-insensitive file system', () => {
    const set = of(rule('a', 'allow', read, '/Data/x'), rule('d', 'deny', read, '/data/**'))

    expect(found(set)).toEqual([])
    expect(found(set, false)).toEqual(['shadowed a /Data/x <- d /data/**'])
  })

  it('reports nothing for a path that becomes longer when folded', () => {
    expect(found(of(rule('a', 'allow', read, `/${'Ⱥ'.repeat(1500)}`)), false)).toEqual([])
  })

  it('does not report a write when its budget is too small to check the reads', () => {
    const domain = (labels: number) => Array(labels).fill('a').join('.')
    const wildcards = Array.from({ length: 20 }, (_, index) => `**.${domain(index + 1)}`)
    const names = Array.from({ length: 500 }, (_, index) => `x${index}.${domain(20)}`)
    const busy = Array.from({ length: 60 }, (_, index) => ({
      ...policy(`a${index}`, allow('a', ...wildcards, ...names)),
      scope: { teams: [`team ${index}`] },
    }))
    const files = policy('z', rule('w', 'allow', write, '/t'), rule('r', 'allow', read, '/**/t'))

    const codes = lint({ policies: [...busy, files] }).map(({ code }) => code)

    expect(codes).toContain('undecided')
    expect(codes).not.toContain('write_without_read')
  })

  it('reports what it could not decide', () => {
    const stars = '/*'.repeat(60)
    const set = of(
      rule('a', 'allow', read, `/**/a${stars}`),
      rule('d', 'deny', read, `/**/b${stars}/*`, `/**/*a${stars}`),
    )

    expect(found(set)).toContain(`undecided a /**/a${stars}`)
  })

  it('finds the allow for every port after many whose ports are denied', () => {
    const ports = [1, 2, 3, 4, 5]
    const set = of(
      allow('a', ...ports.map((port) => `**.b.test:${port}`)),
      allow('b', '**.b.test', 'b.test'),
      deny('d', '*.c.b.test', 'c.b.test', ...ports.map((port) => `**.c.b.test:${port}`)),
    )

    expect(found(set)).toContain('deny_one_level d *.c.b.test <- b **.b.test')
  })

  it('has enough budget for other rules beside one name on many ports', () => {
    const ports = Array.from({ length: 710 }, (_, index) => index + 1)
    const set = of(
      allow('a', ...ports.map((port) => `**.db.test:${port}`), 'db.test'),
      deny('d', ...ports.map((port) => `*.db.test:${port + 2000}`)),
      allow('e', 'evil.org'),
      deny('f', 'evil.org'),
    )

    const codes = lint(set).map(({ code }) => code)
    expect(codes).toContain('shadowed')
    expect(codes).not.toContain('undecided')
  })

  it('rejects a bare list of policies instead of reporting nothing', () => {
    const policies = [policy('p', allow('a', '**.com'))]

    expect(() => lint(policies as PolicySet)).toThrow(
      expect.objectContaining({ code: 'ERR_OPTION_INVALID' }),
    )
    expect(lint({ policies })).not.toEqual([])
  })

  it('throws the errors of compilation', () => {
    expect(() => lint(of(allow('a', '*')))).toThrow(PolicyError)
    expect(() => lint({ home: 'x' })).toThrow(PolicyError)
  })
})
