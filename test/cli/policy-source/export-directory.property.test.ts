import * as fc from 'fast-check'
import { mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { organizations } from '../../server/governance/document/organizations.ts'
import { openCliOrganization, WEB, type CliOrganization } from './organization.ts'
import { casesOfRun } from '../../lanes/run-size.ts'

const NAMES = ['web', 'Web', 'a b', 'a-b', '../up', '.git', 'con', '社内', 'x'.repeat(255)]
const FILES = `policies:
  - name: files
    scope: {}
    rules: []
`

let organization: CliOrganization
let ends: (() => Promise<void>)[]
let cases = 0
/** A new directory for each test, with the name that the command gets. */
let dir: string

beforeAll(async () => {
  ends = []
  organization = await openCliOrganization((end) => void ends.push(async () => end()))
  await organization.call('POST', '/api/v1/orgs/acme/teams', { name: 'backend' })
})
afterAll(async () => {
  for (const end of ends.toReversed()) await end()
  await organization[Symbol.asyncDispose]()
})
beforeEach(async () => {
  dir = `case-${(cases += 1)}`
  await mkdir(at())
})

const at = (...parts: string[]) => join(organization.directory.path, dir, ...parts)
const read = (name: string) => readFile(at(name), 'utf8')
const apply = (policies: readonly object[]) =>
  organization.call('POST', '/api/v1/orgs/acme/apply', { policies, prune: true })
const exportTo = (...argv: string[]) => organization.run(['export', '--out', dir, ...argv])
const plan = (...argv: string[]) => organization.run(['plan', dir, '--exit-code', ...argv])

const policy = (name: string, decision = 'allow') => ({
  name,
  scope: {},
  rules: [{ name: 'sites', actions: ['connect:tcp'], decision, resources: ['example.com:443'] }],
})

describe.each(['yaml', 'json'] as const)('a directory of %s', (format) => {
  it('equals the server after an export, for any previous content', async () => {
    await fc.assert(
      fc.asyncProperty(
        organizations(NAMES).filter((policies) => policies.length > 0),
        async (policies) => {
          await apply(policies)

          const done = await exportTo('--format', format, '--prune')

          expect(`${done.code} ${done.err}`).toBe('0 ')
          const planned = await plan('--prune')
          expect(`${planned.code} ${planned.err}`, planned.out).toBe('0 ')
          const files = await readdir(at())
          expect(files).toHaveLength(policies.length)
          for (const file of files) expect(file).toMatch(new RegExp(`^[^.]+\\.${format}$`))
          expect((await exportTo()).out).toMatch(/^case-\d+: \d+ polic.*, unchanged\n$/)
        },
      ),
      { numRuns: casesOfRun(6) },
    )
  })
})

describe('an export into a directory', () => {
  it('keeps each policy in its file, with its comments, and touches no other file', async () => {
    await mkdir(at('team'))
    await writeFile(at('team', 'all.yaml'), `# ours\n${WEB.replace('allow', 'allow # for now')}`)
    await writeFile(at('files.yaml'), FILES)
    await writeFile(at('README.md'), '# read me')
    await writeFile(at('more.json'), '{"$schema":"s.json","policies":[{"name":"j","rules":[]}]}')
    await apply([])
    expect((await organization.run(['apply', dir, '--prune', '--yes'])).code).toBe(0)
    const { mtimeMs } = await stat(at('files.yaml'))
    await apply([policy('web', 'deny'), { name: 'files', scope: {}, rules: [] }, policy('j')])

    const done = await exportTo()

    expect(done.out).toMatch(
      /^updated case-\d+\/more.json\nupdated case-\d+\/team\/all.yaml\ncase-\d+: 3 /,
    )
    expect(await read('team/all.yaml')).toMatch(/^# ours\n[^]*decision: deny # for now\n/)
    expect(JSON.parse(await read('more.json'))).toEqual({
      $schema: 's.json',
      policies: [policy('j')],
    })
    expect(await read('README.md')).toBe('# read me')
    expect((await stat(at('files.yaml'))).mtimeMs).toBe(mtimeMs)
    expect((await plan('--prune')).code).toBe(0)
  })

  it('removes policies that the server does not have only with --prune', async () => {
    await apply([policy('web')])
    await writeFile(at('mine.yaml'), `# my work\n${FILES}`)
    const both = `${FILES}${JSON.stringify([policy('web')]).slice(1, -1)}`
    await writeFile(at('both.yaml'), both.replace('{"name"', '  - {"name"').replace('files', 'x'))

    const refused = await exportTo()

    expect(refused).toMatchObject({ code: 1, out: '' })
    expect(refused.err).toContain(`${dir}/mine.yaml:3:5: policy \`files\` is not on the server`)
    expect(refused.err).toContain(`${dir}/both.yaml:2:5: policy \`x\` is not on the server`)
    expect(refused.err).toContain('write `--prune`')
    expect(await read('mine.yaml')).toBe(`# my work\n${FILES}`)
    const pruned = await exportTo('--prune')
    expect(pruned.out).toMatch(/^updated .*both.yaml\ndeleted .*mine.yaml\n/)
    expect(await readdir(at())).toEqual(['both.yaml'])
    expect((await plan('--prune')).code).toBe(0)
  })

  it('creates a directory for a name that ends in a slash, and replaces no file', async () => {
    await apply([policy('web')])
    const inner = `${dir}/new/deep/`

    expect(await organization.run(['export', '--out', inner])).toMatchObject({ code: 0, err: '' })
    expect(await readdir(at('new', 'deep'))).toEqual(['web.yaml'])
    const file = await organization.run(['export', '--out', `${inner}web.yaml/`])
    expect(file).toMatchObject({ code: 2, err: expect.stringContaining('is not a directory') })
    for (const argv of [['--prune'], ['--prune', '--out', `${inner}web.yaml`]])
      expect(await organization.run(['export', ...argv])).toMatchObject({ code: 2, out: '' })
  })

  it('names the file of a new policy differently if its own name is taken', async () => {
    await writeFile(at('Web.yaml'), FILES)
    await apply([policy('web'), { name: 'files', scope: {}, rules: [] }])

    expect((await exportTo()).code).toBe(0)

    expect((await readdir(at())).toSorted()).toEqual([
      'Web.yaml',
      expect.stringMatching(/^web-[0-9a-f]{8}\.yaml$/),
    ])
    expect(await read('Web.yaml')).toBe(FILES)
  })

  it('writes through no link, inside the directory or out of it', async () => {
    const outside = join(organization.directory.path, `${dir}-outside`)
    await mkdir(outside)
    await mkdir(at('.kept'))
    for (const place of [outside, at('.kept')]) await writeFile(join(place, 'w.yaml'), WEB)
    await apply([policy('web', 'deny')])
    const refused = async (message: string) => {
      const done = await exportTo('--prune')
      expect(done).toMatchObject({ code: 2, out: '', err: expect.stringContaining(message) })
      for (const place of [outside, at('.kept')])
        expect(await readFile(join(place, 'w.yaml'), 'utf8')).toBe(WEB)
    }
    await symlink(join(outside, 'w.yaml'), at('link.yaml'))
    await refused('is a link to a file outside')
    await rm(at('link.yaml'))
    await symlink(outside, at('sub'))
    await refused('is a link to a directory')
    await rm(at('sub'))
    await symlink('.kept/w.yaml', at('link.yaml'))
    await refused('is a symbolic link')
    await rm(at('link.yaml'))
    await symlink(join(outside, 'new.yaml'), at('web.yaml'))
    await refused('web.yaml')
    expect(await readdir(outside)).toEqual(['w.yaml'])
  })

  it('changes no file if one file has no valid policies', async () => {
    await apply([policy('web', 'deny'), policy('other')])
    await writeFile(at('web.yaml'), WEB)
    await writeFile(at('package.json'), '{"name":"x"}')

    const done = await exportTo('--prune')

    expect(done).toMatchObject({ code: 2, out: '' })
    expect(done.err).toContain(`${dir}/package.json:1:`)
    expect(await read('web.yaml')).toBe(WEB)
    expect((await readdir(at())).toSorted()).toEqual(['package.json', 'web.yaml'])
  })
})
