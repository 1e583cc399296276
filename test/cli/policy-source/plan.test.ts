import { describe, expect, it } from 'vitest'
import { fileURLToPath } from 'node:url'
import { openCliOrganization, WEB } from './organization.ts'

const EXAMPLES = fileURLToPath(new URL('../../../examples/policies', import.meta.url))
const POLICIES = '/api/v1/orgs/acme/export'

describe('palisade plan', () => {
  it('shows the rules that a file adds, and the resources that become reachable', async () => {
    await using organization = await openCliOrganization()
    await organization.directory.write('web.yaml', WEB)

    const planned = await organization.run(['plan', 'web.yaml'])

    expect(planned).toMatchObject({ code: 0, err: '' })
    expect(planned.out).toBe(`acme, revision 1

+ policy \`web\` for everybody
    + rule \`sites\`: allow connect:tcp
        + example.com:443
        + *.example.com:443

For everybody:
  newly reachable
    connect:tcp *.example.com:443  by rule \`sites\` of \`web\`
    connect:tcp example.com:443  by rule \`sites\` of \`web\`

1 to create, 0 to change, 0 to delete, 0 unchanged
`)
    expect(await organization.call('GET', POLICIES)).toMatchObject({ policies: [] })
  })

  it.each(['plan', 'apply'])(
    '%s reports a server error with file, line and column',
    async (verb) => {
      await using organization = await openCliOrganization()
      const { directory, run } = organization
      await directory.write('a.yaml', WEB)
      await directory.write(
        'b.yaml',
        'policies:\n  - name: b\n    scope: { teams: [nobody] }\n    rules: []\n',
      )

      const { code, err } = await run([
        verb,
        'a.yaml',
        'b.yaml',
        ...(verb === 'apply' ? ['--yes'] : []),
      ])

      expect(code).toBe(1)
      expect(err).toBe(
        'error: b.yaml:3:22: team `nobody` is not a team of this organization (invalid_argument)\n',
      )
    },
  )

  it('shows the changes of each rule, and the unmanaged policies', async () => {
    await using organization = await openCliOrganization()
    const { directory, run } = organization
    await directory.write('web.yaml', WEB)
    await directory.write('other.yaml', 'policies: [{ name: other, scope: {}, rules: [] }]')
    await run(['apply', 'web.yaml', 'other.yaml', '--yes'])
    await directory.write(
      'web.yaml',
      `policies:
  - name: web
    scope: {}
    rules:
      - { name: new, actions: [connect:udp], decision: deny, resources: [10.0.0.0/8] }
      - name: sites
        actions: [connect:tcp]
        decision: allow
        resources: ['*.example.com:443', example.org]
`,
    )

    const planned = await run(['plan', 'web.yaml'])

    expect(planned.out).toBe(`acme, revision 4

~ policy \`web\`
    + rule \`new\`: deny connect:udp
        + 10.0.0.0/8
    ~ rule \`sites\`
        - example.com:443
        + example.org

For everybody:
  newly reachable
    connect:tcp example.org  by rule \`sites\` of \`web\`
  newly blocked
    connect:tcp example.com:443  by rule \`sites\` of \`web\`

not in the files, and left alone without \`--prune\`: \`other\`
0 to create, 1 to change, 0 to delete, 0 unchanged
`)
    expect((await run(['plan', 'web.yaml', '--prune'])).out).toContain(
      '- policy `other` for everybody\n',
    )
  })

  it('compares for each team, and for the members of two teams', async () => {
    await using organization = await openCliOrganization()
    const { directory, run, call } = organization
    for (const name of ['red', 'blue']) {
      const { id } = (await call('POST', '/api/v1/orgs/acme/teams', { name })) as { id: string }
      await call('PUT', `/api/v1/orgs/acme/teams/${id}/members/alice`)
    }
    const both = (deny: string) => `policies:
  - name: red
    scope: { teams: [red] }
    rules:
      - { name: open, actions: [connect:tcp], decision: allow, resources: [a.example] }
  - name: blue
    scope: { teams: [blue] }
    rules: ${deny}
`
    await directory.write(
      'p.yaml',
      both('[{ name: closed, actions: [connect:tcp], decision: deny, resources: [a.example] }]'),
    )
    await run(['apply', 'p.yaml', '--yes'])
    await directory.write('p.yaml', both('[]'))

    const { out } = await run(['plan', 'p.yaml'])

    // Members of blue only could not reach it before either.
    expect(out).toContain(`For members of team \`blue\`:
  every request is decided as before

For members of teams \`blue\` and \`red\` together:
  newly reachable
    connect:tcp a.example  by rule \`closed\` of \`blue\`
`)
    expect(out).not.toContain('team `red`:')
  })

  it('exits 3 with --exit-code only when something would change', async () => {
    await using organization = await openCliOrganization()
    const { directory, run } = organization
    await directory.write('web.yaml', WEB)

    expect((await run(['plan', 'web.yaml', '--exit-code'])).code).toBe(3)
    await run(['apply', 'web.yaml', '--yes'])
    const same = await run(['plan', 'web.yaml', '--exit-code'])

    expect(same).toMatchObject({ code: 0, err: '' })
    expect(same.out).toBe('acme, revision 3\n\nnothing to change, 1 unchanged\n')
  })

  it('prints the whole plan as JSON', async () => {
    await using organization = await openCliOrganization()
    await organization.directory.write('web.yaml', WEB)

    const { out } = await organization.run(['plan', 'web.yaml', '--json'])

    expect(JSON.parse(out)).toMatchObject({
      org: 'acme',
      dry_run: true,
      revision: 1,
      changes: [{ change: 'created', name: 'web', new: { scope: {} } }],
      comparison: { audiences: [{ teams: [], blocked: [], complete: true }], omitted: 0 },
    })
  })

  it('needs only the permission to read policies, with which apply is refused', async () => {
    await using organization = await openCliOrganization()
    const { directory, run, limitTo } = organization
    await directory.write('web.yaml', WEB)
    await limitTo(['policies:read'])

    expect((await run(['plan', 'web.yaml'])).code).toBe(0)
    const refused = await run(['apply', 'web.yaml', '--yes'])
    expect(refused.code).toBe(1)
    expect(refused.err).toContain('`policies:write`')
  })

  it('plans the examples', async () => {
    await using organization = await openCliOrganization()

    const planned = await organization.run(['plan', EXAMPLES])
    const applied = await organization.run(['apply', EXAMPLES, '--yes'])

    expect(planned).toMatchObject({ code: 0, err: '' })
    expect(planned.out).toContain('3 to create, 0 to change, 0 to delete, 0 unchanged')
    expect(planned.out).toContain('connect:tcp *.github.com:443, except gist.github.com')
    expect(planned.out).toContain('`~` stands for /home/user')
    expect(applied.code).toBe(0)
  })

  it.each([
    [['plan'], 'missing required argument'],
    [['plan', 'web.yaml', '--home', 'home'], '`--home`'],
    [['plan', 'nowhere'], 'nowhere: no such file or directory'],
  ])('refuses %j with exit 2', async (argv, message) => {
    await using organization = await openCliOrganization()
    await organization.directory.write('web.yaml', WEB)

    const refused = await organization.run(argv)

    expect(refused).toMatchObject({ code: 2, out: '' })
    expect(refused.err).toContain(message)
  })
})
