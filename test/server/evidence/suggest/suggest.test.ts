import type { Action } from '@palisade/policy-core'
import { describe, expect, it } from 'vitest'
import { suggest } from '../../../../server/src/evidence/suggest/suggest.ts'
import type { SuggestionsRequest } from '@palisade/protocol'
import { denied, NOW_MS, optionsOf, organizationOf, unread } from './recorded.ts'
import type {
  RecordedRequest,
  SuggestOrganization,
} from '../../../../server/src/evidence/suggest/suggest-input.ts'

const BACKEND = ['ann', 'ben', 'cas']
const ORG = organizationOf({ backend: BACKEND, all: [...BACKEND, 'dan', 'eve'] })

describe('the audience of a suggestion', () => {
  it('is the team whose members asked for the target', () => {
    const { document } = suggested([denied('pkg.example.com', BACKEND)])

    expect(document.policies).toEqual([
      {
        name: 'suggested for backend',
        scope: { teams: ['backend'] },
        rules: [
          {
            name: 'connect:tcp example.com:443',
            actions: ['connect:tcp'],
            decision: 'allow',
            resources: ['pkg.example.com:443'],
          },
        ],
      },
    ])
  })

  it('is no team of which too few members asked', () => {
    const answer = suggested([denied('pkg.example.com', ['ann', 'ben'])])

    expect(answer.document.policies).toEqual([])
    expect(reasonsOf(answer)).toEqual({ 'pkg.example.com:443': 'no_fitting_team' })
    expect(answer.not_covered[0]?.detail).toContain('no team has 3 members')
  })

  it('needs one member in the singular', () => {
    const { members, ...rest } = organizationOf({ pair: ['ann', 'ben'] })
    const organization = { ...rest, members: [...members, { username: 'zoe', teams: [] }] }

    const least = { min_members: 1, min_devices: 1 }
    const answer = suggested([denied('a.example.com', ['zoe'])], least, organization)

    expect(answer.not_covered[0]?.detail).toContain('no team has 1 member, or all')
  })

  it('is a team smaller than the least number if all of its members asked', () => {
    const organization = organizationOf({ pair: ['ann', 'ben'], all: ['ann', 'ben', 'cas', 'dan'] })

    const { suggestions } = suggested([denied('a.example.com', ['ann', 'ben'])], {}, organization)

    expect(suggestions).toMatchObject([{ teams: ['pair'], members: 2 }])
  })

  it('is the team of which the greatest part asked, and no wider one for a single user', () => {
    const answer = suggested([denied('a.example.com', [...BACKEND, 'dan'])])

    expect(answer.suggestions).toMatchObject([{ teams: ['backend'], evidence: { users: 3 } }])
    expect(answer.not_covered).toMatchObject([
      { reason: 'no_fitting_team', evidence: { usernames: ['dan'] } },
    ])
  })

  it('is a wider team where enough users are in no narrower one', () => {
    const teams = { backend: BACKEND, all: [...BACKEND, 'dan', 'eve', 'fay', 'gil'] }
    const asking = [...BACKEND, 'dan', 'eve', 'fay']

    const { suggestions } = suggested([denied('a.example.com', asking)], {}, organizationOf(teams))

    expect(suggestions.map((each) => each.teams.join()).toSorted()).toEqual(['all', 'backend'])
  })

  it('is the organization only when that is asked for', () => {
    const requests = [denied('a.example.com', ['ann', null])]

    const refused = suggested(requests)
    const asked = suggested(requests, { scope: 'organization' })

    expect(refused.document.policies).toEqual([])
    expect(refused.not_covered.map(({ reason }) => reason).toSorted()).toEqual([
      'no_fitting_team',
      'no_user',
    ])
    expect(asked.document.policies).toMatchObject([{ name: 'suggested for everybody', scope: {} }])
    expect(asked.not_covered).toEqual([])
  })

  it('by user is a team of that user alone', () => {
    const organization = organizationOf({ 'only ann': ['ann'], all: ['ann', 'ben', 'cas'] })
    const requests = [denied('a.example.com', ['ann']), denied('b.example.com', ['ben'])]

    const answer = suggested(requests, { by: 'user' }, organization)

    expect(answer.suggestions).toMatchObject([
      { teams: ['only ann'], resource: 'a.example.com:443', marks: ['one_device', 'one_user'] },
    ])
    expect(reasonsOf(answer)).toEqual({ 'b.example.com:443': 'no_fitting_team' })
  })

  it('by program has a policy for each program', () => {
    const requests = [
      denied('a.example.com', BACKEND, { program: '/usr/bin/git' }),
      denied('b.example.com', BACKEND, { program: '/usr/bin/\u001b[31mnpm\u202e' }),
    ]

    const { document } = suggested(requests, { by: 'program' })

    expect(document.policies.map(({ name }) => name)).toEqual([
      'suggested for backend, git',
      'suggested for backend, [31mnpm',
    ])
  })

  it('leaves out users who are no members any more', () => {
    const answer = suggested([denied('a.example.com', [...BACKEND, 'zoe'])])

    expect(answer.suggestions).toMatchObject([{ evidence: { users: 3 } }])
    expect(reasonsOf(answer)).toEqual({ 'a.example.com:443': 'not_a_member' })
  })
})

describe('a target that no suggestion covers', () => {
  it.each<[string, RecordedRequest]>([
    ['few_devices', denied('a.example.com', ['ann'])],
    ['few_devices', unread('/srv/data/*', ['ann'])],
    ['unreadable', denied('*.github.io', BACKEND)],
    ['unreadable', unread('/srv/a\u{FFFD}b', BACKEND)],
    ['denied_by_rule', denied('a.example.com', BACKEND, { reason: 'rule', rules: [rule('deny')] })],
    ['protected_address', denied('a.example.com', BACKEND, { reason: 'protected_address' })],
    ['protected_address', denied('169.254.169.254', BACKEND)],
    ['protected_address', denied('localhost', BACKEND)],
    ['unreadable', denied('', BACKEND, { reason: 'invalid_request', host: null, port: null })],
    ['not_evaluated', denied('a.example.com', BACKEND, { reason: 'no_policy' })],
    ['public_suffix', denied('github.io', BACKEND)],
    ['public_suffix', denied('s3.amazonaws.com', BACKEND)],
    ['public_suffix', denied('co.uk', BACKEND)],
    ['public_suffix', denied('GITHUB.IO', BACKEND)],
    ['public_suffix', denied('S3.amazonaws.com.', BACKEND)],
    ['public_suffix', denied('github\u3002io', BACKEND)],
    ['public_suffix', denied('\uff27ithub.io', BACKEND)],
    ['path_cut', unread('/srv/data/app', BACKEND, { path_cut: true })],
    ['sensitive_path', unread('/', BACKEND)],
    ['sensitive_path', unread('/home', BACKEND)],
    ['sensitive_path', unread('/home/ann', BACKEND)],
    ['sensitive_path', unread('/home/ann/.ssh/config', BACKEND)],
    ['sensitive_path', unread('/srv/data/.AWS/credentials', BACKEND)],
    ['sensitive_path', unread('/proc/1/environ', BACKEND)],
    ...[
      '/HOME/ann',
      '/users/ann',
      '/private/var/root',
      '/System/Volumes/Data/Users/ann',
      '/System/Volumes/Data/private/var/root',
      '/var/roothome',
      '/sysroot/ostree/deploy/fedora/var/home/ann',
      '/Volumes/Macintosh HD/Users/ann',
      '/mnt/c/Users/ann',
      '/Users/ann/Library/Keychains/login.keychain-db',
      '/Users/ann/Library/Application Support/Google/Chrome/Default/Cookies',
      '/home/ann/.config/google-chrome/Default/Cookies',
      '/home/ann/.config/chromium/Default/Login Data',
      '/home/ann/.s\u017fh/config',
      '/home/ann/.s\u200csh/config',
      '/run/user/1000/keyring/ssh',
      '/var/run/docker.sock',
      '/srv/app/.env.production',
      '/.vol/16777220/2',
      '/host/home/ann',
      '/hostfs/etc/shadow',
      '/chroot/build/home/ann',
      '/mnt/sysimage/root',
      '/home/ann/.config',
      '/home/ann/.local/share',
      '/srv/app/.cargo',
      '/Users/ann/Library',
      '/Users/ann/Library/Application Support',
      '/etc/ssl',
    ].map((path): [string, RecordedRequest] => ['sensitive_path', unread(path, BACKEND)]),
    ['not_expressible', unread('/srv/data/app/invoice\u202efdp.sh', BACKEND)],
    ['not_expressible', unread('/srv/data/app/in\u200bvoice', BACKEND)],
    ['not_expressible', unread('/srv/data/*', BACKEND)],
    ['not_expressible', unread('/srv/data/**', BACKEND)],
    ['not_expressible', unread('/srv/a\u0001b/c', BACKEND)],
  ])('is listed as %s', (reason, request) => {
    const answer = suggested([request])

    expect(answer.document.policies).toEqual([])
    expect(answer.not_covered.map((each) => each.reason)).toEqual([reason])
    expect(answer.not_covered_totals).toEqual([
      { reason, targets: 1, decisions: expect.anything() },
    ])
  })

  it('is one that a policy of now allows or denies', () => {
    const organization = organizationOf({ backend: BACKEND }, [
      policyOf('now', [
        { decision: 'allow', resources: ['a.example.com'] },
        { decision: 'deny', resources: ['b.example.com'] },
      ]),
    ])
    const requests = ['a', 'b', 'c'].map((label) => denied(`${label}.example.com`, BACKEND))

    const answer = suggested(requests, {}, organization)

    expect(answer.suggestions).toMatchObject([{ resource: 'c.example.com:443' }])
    expect(reasonsOf(answer)).toEqual({
      'a.example.com:443': 'already_allowed',
      'b.example.com:443': 'denied_by_rule',
    })
  })
})

describe('a workspace of a sandbox', () => {
  const refused = (path: string) => unread(path, BACKEND, { protocol: 'mount' })

  it('is suggested with everything below it, as a sandbox needs it', () => {
    const answer = suggested([refused('/srv/projects/app')])

    expect(answer.suggestions).toMatchObject([{ action: 'read', resource: '/srv/projects/app/**' }])
  })

  it('is not open by a rule for the directory alone', () => {
    const organization = organizationOf({ backend: BACKEND }, [
      policyOf('now', [
        { decision: 'allow', actions: ['read'], resources: ['/srv/projects/app', '/srv/lib/**'] },
      ]),
    ])

    const answer = suggested(
      [refused('/srv/projects/app'), refused('/srv/lib/x')],
      {},
      organization,
    )

    expect(answer.suggestions).toMatchObject([{ resource: '/srv/projects/app/**' }])
    expect(reasonsOf(answer)).toEqual({ '/srv/lib/x': 'already_allowed' })
  })
})

describe('the evidence', () => {
  it('of requests that were only observed is apart from denials', () => {
    const requests = [
      denied('a.example.com', BACKEND),
      denied('b.example.com', BACKEND, { decision: 'allow', reason: 'observed' }),
    ]

    expect(suggested(requests, { from: 'denials' }).suggestions).toMatchObject([
      { resource: 'a.example.com:443' },
    ])
    expect(suggested(requests, { from: 'observed' }).suggestions).toMatchObject([
      { resource: 'b.example.com:443' },
    ])
  })

  it('counts devices, users, decisions and programs', () => {
    const { suggestions } = suggested([
      denied('a.example.com', BACKEND, { program: '/usr/bin/git' }),
      denied('a.example.com', ['ann'], { program: '/usr/bin/curl', address: '192.0.2.1' }),
    ])

    expect(suggestions[0]?.evidence).toEqual({
      devices: 3,
      users: 3,
      decisions: 40,
      first_at: '2026-11-26T11:59:00.000Z',
      last_at: '2026-11-26T12:00:00.000Z',
      usernames: BACKEND,
      device_ids: BACKEND.map((name) => `device of ${name}`),
      programs: [
        { program: '/usr/bin/git', decisions: 30 },
        { program: '/usr/bin/curl', decisions: 10 },
      ],
    })
  })

  it.each([
    ['ip_literal', '203.0.113.7'],
    ['confusable_name', 'xn--pple-43d.com'],
    ['unknown_domain', 'build.corp'],
    ['shared_hosting', 'someone.github.io'],
  ])('is marked %s', (mark, host) => {
    const { suggestions } = suggested([denied(host, BACKEND)])

    expect(suggestions[0]?.marks).toEqual([mark])
  })

  it.each(['npmjs.org', 'registry.npmjs.org'])('is marked where a name imitates %s', (host) => {
    const organization = organizationOf({ backend: BACKEND }, [
      policyOf('now', [{ decision: 'allow', resources: [`${host}:443`] }]),
    ])

    const { suggestions } = suggested([denied('registry.nprnjs.org', BACKEND)], {}, organization)

    expect(suggestions).toMatchObject([{ marks: ['similar_name'], similar_to: 'npmjs.org' }])
  })

  it('is marked for a port that carries data out', () => {
    const { suggestions } = suggested([denied('mail.example.com', BACKEND, { port: 25 })])

    expect(suggestions[0]?.marks).toEqual(['sensitive_port'])
  })
})

describe('a name in another spelling', () => {
  it('is one with its canonical name, with the same marks', () => {
    const answer = suggested([
      denied('a.example.com', ['ann', 'ben']),
      denied('A.EXAMPLE.com.', ['cas']),
      denied('X.GITHUB\u3002io', BACKEND),
    ])

    expect(answer.suggestions).toMatchObject([
      { resource: 'a.example.com:443', evidence: { users: 3 } },
      { resource: 'x.github.io:443', marks: ['shared_hosting'] },
    ])
  })

  it('makes no wildcard across a public suffix', () => {
    const requests = ['A', 'B', 'C', 'D'].map((label) => denied(`${label}.GITHUB.IO`, BACKEND))

    const found = resources(suggested(requests, { generalize: true }))

    expect(found.filter((each) => each.includes('*'))).toEqual([])
  })
})

describe('a wildcard', () => {
  const labels = ['a', 'b', 'c', 'd']

  it('is offered only when asked for', () => {
    const requests = labels.map((label) => denied(`${label}.example.com`, BACKEND))

    expect(resources(suggested(requests))).toEqual(labels.map((each) => `${each}.example.com:443`))
    const [suggestion] = suggested(requests, { generalize: true }).suggestions
    expect(suggestion).toMatchObject({
      resource: '*.example.com:443',
      marks: ['wildcard'],
      replaces: labels.map((each) => `${each}.example.com:443`),
    })
  })

  it('covers all levels where names are spread over them', () => {
    const requests = labels.map((label) => denied(`x.${label}.example.com`, BACKEND))

    expect(resources(suggested(requests, { generalize: true }))).toEqual(['**.example.com:443'])
  })

  it('takes in names of few devices, because the domain has many', () => {
    const requests = labels.map((label, index) =>
      denied(`${label}.example.com`, [BACKEND[index % 3] ?? '']),
    )

    const answer = suggested(requests, { generalize: true })

    expect(resources(answer)).toEqual(['*.example.com:443'])
    expect(answer.not_covered).toEqual([])
  })

  it('is not made, nor widened, by the names of one device', () => {
    const liar = (...hosts: string[]) => hosts.map((host) => denied(host, ['cas']))
    const honest = (...hosts: string[]) => hosts.map((host) => denied(host, BACKEND))
    const below = labels.map((label) => `${label}.cdn.example.com`)

    const made = [
      ...honest('d.example.com'),
      ...liar('a.example.com', 'b.example.com', 'c.example.com'),
    ]
    const widened = [
      ...honest('a.x.example.org', 'b.x.example.org', 'c.x.example.org'),
      ...liar('evil.example.org'),
    ]

    expect(resources(suggested(made, { generalize: true }))).toEqual(['d.example.com:443'])
    expect(resources(suggested(widened, { generalize: true }))).not.toContain('**.example.org:443')
    const asked = suggested([...honest(...below), ...liar('evil.example.com')], {
      generalize: true,
    })
    expect(resources(asked)).toEqual(['*.cdn.example.com:443'])
  })

  it.each([
    ['a public suffix', labels.map((label) => `${label}.github.io`)],
    ['a domain with public suffixes below it', labels.map((label) => `${label}.amazonaws.com`)],
    ['a provider that policy-core knows', labels.map((label) => `${label}.azure.com`)],
    ['an internal domain', labels.map((label) => `${label}.build.corp`)],
    ['addresses', labels.map((_, index) => `203.0.113.${index}`)],
    ['too few names', ['a.example.com', 'b.example.com', 'example.com']],
  ])('never stands for %s', (_, hosts) => {
    const requests = hosts.map((host) => denied(host, BACKEND))

    const found = resources(suggested(requests, { generalize: true }))

    expect(found).toEqual(hosts.map((host) => `${host}:443`))
  })

  it('stands for files of a directory of three levels', () => {
    const requests = labels.flatMap((label) => [
      unread(`/srv/data/app/${label}`, BACKEND),
      unread(`/srv/other/${label}`, BACKEND),
      unread(`/home/ann/work/${label}`, BACKEND),
      unread(`/home/ann/work/app/${label}`, BACKEND),
      unread(`/home/ann/.config/app/${label}`, BACKEND),
    ])

    const found = resources(suggested(requests, { generalize: true }))

    expect(found.filter((each) => each.includes('*')).toSorted()).toEqual([
      '/home/ann/work/app/*',
      '/srv/data/app/*',
    ])
    expect(found).toHaveLength(2 + 3 * labels.length)
  })
})

describe('the document', () => {
  it('never has the name of a policy that exists', () => {
    const organization = organizationOf({ backend: BACKEND }, [policyOf('suggested for backend')])

    const { document } = suggested([denied('a.example.com', BACKEND)], {}, organization)

    expect(document.policies.map(({ name }) => name)).toEqual(['suggested for backend 2'])
  })

  it('has a policy for names and one for files', () => {
    const { document } = suggested([
      denied('a.example.com', BACKEND),
      unread('/srv/data/file', BACKEND),
    ])

    expect(document.policies.map(({ name }) => name).toSorted()).toEqual([
      'suggested for backend',
      'suggested for backend (files)',
    ])
  })

  it('says what it opens', () => {
    const organization = organizationOf({ backend: BACKEND }, [
      policyOf('now', [{ decision: 'deny', resources: ['bad.example.com'] }]),
    ])
    const requests = ['a', 'b', 'c', 'd'].map((label) => denied(`${label}.example.com`, BACKEND))

    const { opens } = suggested(requests, { generalize: true }, organization)

    expect(opens).toEqual([
      {
        teams: ['backend'],
        complete: true,
        reachable: [
          {
            action: 'connect:tcp',
            resource: '*.example.com:443',
            except: { allowed: [], denied: ['bad.example.com'] },
          },
        ],
      },
    ])
  })

  it('has bounds, and lists the rest as not covered', () => {
    const requests = Array.from({ length: 1_100 }, (_, index) =>
      denied(`a${index}.example.com`, BACKEND),
    )

    const { suggestions, not_covered_totals } = suggested(requests)

    expect(suggestions).toHaveLength(1_000)
    expect(not_covered_totals).toEqual([{ reason: 'too_many', targets: 100, decisions: 3_000 }])
  })
})

function suggested(
  requests: readonly RecordedRequest[],
  options: SuggestionsRequest = {},
  organization: SuggestOrganization = ORG,
) {
  return suggest(requests, organization, optionsOf(options), NOW_MS)
}

function resources({ suggestions }: ReturnType<typeof suggest>): readonly string[] {
  return suggestions.map(({ resource }) => resource)
}

function reasonsOf({ not_covered }: ReturnType<typeof suggest>): Record<string, string> {
  return Object.fromEntries(not_covered.map(({ target, reason }) => [target, reason]))
}

function rule(decision: 'allow' | 'deny') {
  return { policy_id: 'p', rule_id: 'r', decision, origin: 'org' } as const
}

function policyOf(
  name: string,
  rules: readonly {
    decision: 'allow' | 'deny'
    resources: readonly string[]
    actions?: readonly Action[]
  }[] = [],
) {
  return {
    id: name,
    name,
    allowlist_v0: {
      rules: rules.map((each, index) => ({
        id: `${name} ${index}`,
        name: `${name} ${index}`,
        ...each,
        actions: each.actions ?? (['connect:tcp'] as const),
      })),
    },
  }
}
