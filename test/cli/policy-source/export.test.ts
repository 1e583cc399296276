import { readFile, stat, symlink, chmod } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openCliOrganization, WEB } from './organization.ts'

describe('palisade export', () => {
  it('prints policies that apply accepts, as YAML or as JSON', async () => {
    await using organization = await openCliOrganization()
    const { directory, run } = organization
    await directory.write('web.yaml', WEB)
    await run(['apply', 'web.yaml', '--yes'])

    const yaml = await run(['export'])
    const json = await run(['export', '--format', 'json'])

    expect(yaml).toMatchObject({ code: 0, err: '' })
    expect(yaml.out).toBe(`# yaml-language-server: $schema=.palisade.schema.json
# Policies as \`palisade apply\` reads them; \`palisade schema\` prints the schema.

policies:
  - name: web
    scope: {}
    rules:
      - name: sites
        actions: [ connect:tcp ]
        decision: allow
        resources:
          - example.com:443
          - "*.example.com:443"
`)
    for (const [name, { out }] of [['again.yaml', yaml] as const, ['again.json', json] as const]) {
      await directory.write(name, out)
      expect((await run(['plan', name, '--prune', '--exit-code'])).code).toBe(0)
    }
  })

  it('updates a file and keeps its comments, order and wording', async () => {
    await using organization = await openCliOrganization()
    const { directory, run, call } = organization
    const { id } = (await call('POST', '/api/v1/orgs/acme/teams', { name: 'red' })) as {
      id: string
    }
    const written = `# top
policies:
  # second by name, first here
  - name: web # named so by Ann
    scope: { teams: [${id.toUpperCase()}] } # the red team
    rules:
      - name: sites
        actions: [connect:tcp]
        decision: allow # for now
        resources:
          - b.example # the shop
          - a.example
      - name: old
        actions: [connect:udp]
        decision: deny
        resources: [c.example]
  - name: gone
    scope: {}
    rules: []
  - { name: alone, rules: [] }
`
    await directory.write('all.yaml', written)
    await run(['apply', 'all.yaml', '--yes'])

    const same = await run(['export', '--out', 'all.yaml'])
    expect(same).toMatchObject({ code: 0, err: '', out: 'all.yaml: 3 policies of revision 6\n' })
    const path = join(directory.path, 'all.yaml')
    const kept = await readFile(path, 'utf8')
    for (const comment of written.match(/#.*/g) ?? []) expect(kept).toContain(comment)
    expect(kept).toContain(id.toUpperCase())

    await directory.write(
      'change.yaml',
      `policies:
  - name: web
    scope: { teams: [red] }
    rules:
      - { name: new, actions: [connect:tcp], decision: deny, resources: [d.example] }
      - { name: sites, actions: [connect:tcp], decision: deny, resources: [z.example, b.example] }
  - { name: added, rules: [] }
  - { name: alone, rules: [] }
`,
    )
    await run(['apply', 'change.yaml', '--prune', '--yes'])
    expect((await run(['export', '--out', 'all.yaml'])).code).toBe(0)

    const changed = await readFile(path, 'utf8')
    expect((await run(['plan', 'all.yaml', '--prune', '--exit-code'])).code).toBe(0)
    for (const comment of [
      '# top',
      '# named so by Ann',
      '# the red team',
      '# for now',
      '# the shop',
    ])
      expect(changed).toContain(comment)
    expect(changed).not.toContain('gone')
    expect(changed.indexOf('name: web')).toBeLessThan(changed.indexOf('name: alone'))
    expect(changed.indexOf('name: alone')).toBeLessThan(changed.indexOf('name: added'))
    expect(await run(['export', '--out', 'all.yaml'])).toMatchObject({ code: 0 })
    expect(await readFile(path, 'utf8')).toBe(changed)
  })

  it('fills a file that has no policies yet', async () => {
    await using organization = await openCliOrganization()
    const { directory, run } = organization
    await directory.write('web.yaml', WEB)
    await directory.write('new.yaml', '# ours\npolicies: []\n')
    await run(['apply', 'web.yaml', '--yes'])

    await run(['export', '--out', 'new.yaml'])

    const text = await readFile(join(directory.path, 'new.yaml'), 'utf8')
    expect(text).toMatch(/^# ours\npolicies:\n {2}- name: web\n/)
    expect((await run(['plan', 'new.yaml', '--prune', '--exit-code'])).code).toBe(0)
  })

  it('writes through a link, and keeps the mode of the file', async () => {
    await using organization = await openCliOrganization()
    const { directory, run } = organization
    await directory.write('real.json', '{"policies":[]}')
    await chmod(join(directory.path, 'real.json'), 0o640)
    await symlink('real.json', join(directory.path, 'link.json'))

    expect(await run(['export', '--out', 'link.json'])).toMatchObject({ code: 0, err: '' })

    const { mode } = await stat(join(directory.path, 'real.json'))
    expect(mode & 0o777).toBe(0o640)
    expect(await readFile(join(directory.path, 'real.json'), 'utf8')).toBe(
      '{\n  "policies": []\n}\n',
    )
  })

  it.each([
    ['a file without policies', 'x.yaml', 'not: ours\n', ['export', '--out', 'x.yaml']],
    [
      'a file of several documents',
      'x.yaml',
      'policies: []\n---\npolicies: []\n',
      ['export', '--out', 'x.yaml'],
    ],
    [
      'a format that does not match',
      'x.json',
      '{"policies":[]}',
      ['export', '--out', 'x.json', '--format', 'yaml'],
    ],
    ['an unknown format', 'x.json', '{"policies":[]}', ['export', '--format', 'toml']],
  ])('leaves %s unchanged, with exit 2', async (_title, name, content, argv) => {
    await using organization = await openCliOrganization()
    await organization.directory.write(name, content)

    const refused = await organization.run(argv)

    expect(refused).toMatchObject({ code: 2, out: '' })
    expect(await readFile(join(organization.directory.path, name), 'utf8')).toBe(content)
  })
})

describe('palisade schema', () => {
  it('prints the JSON Schema of a file', async () => {
    await using organization = await openCliOrganization()

    const { out, code } = await organization.run(['schema'])

    expect(code).toBe(0)
    const schema = JSON.parse(out) as { $schema: string; $defs: Record<string, object> }
    expect(schema.$schema).toBe('https://json-schema.org/draft/2020-12/schema')
    expect(schema.$defs['DocumentPolicy']).toMatchObject({
      required: ['name', 'rules'],
      additionalProperties: false,
    })
  })
})
