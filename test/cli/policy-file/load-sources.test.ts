import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { CliError } from '../../../packages/cli/src/runtime/cli-error.ts'
import { loadSources } from '../../../packages/cli/src/policy-file/load-sources.ts'
import { temporaryDirectory } from '../temporary-directory.ts'

type Files = Readonly<Record<string, string | Uint8Array>>

/** Loads `names` of a directory with these files; a problem becomes its lines. */
async function load(
  files: Files,
  names: readonly string[] = Object.keys(files),
): Promise<readonly string[]> {
  await using directory = await temporaryDirectory()
  for (const [name, content] of Object.entries(files)) {
    await mkdir(join(directory.path, name, '..'), { recursive: true })
    await writeFile(join(directory.path, name), content)
  }
  return await loadFrom(directory.path, names)
}

async function loadFrom(cwd: string, names: readonly string[]): Promise<readonly string[]> {
  const stderr = new PassThrough()
  try {
    const loaded = await loadSources({ cwd, stderr }, names)
    const told = String(stderr.read() ?? '')
    return [...loaded.map(({ name }) => name), ...told.split('\n').filter(Boolean)]
  } catch (error) {
    if (!(error instanceof CliError) || error.exitCode !== 2) throw error
    return error.lines
  }
}

const one = (name: string) => `policies: [{ name: ${name}, rules: [] }]\n`
const ruled = (...lines: string[]) =>
  [
    'policies:',
    '  - name: web',
    '    rules:',
    '      - name: sites',
    ...lines.map((line) => `        ${line}`),
  ].join('\n')

describe('files of policies', () => {
  it('are refused below a link to a directory, because they would be skipped', async () => {
    await using directory = await temporaryDirectory()
    for (const name of ['p', 'elsewhere']) {
      await mkdir(join(directory.path, name))
      await writeFile(join(directory.path, name, 'a.yaml'), one(name))
    }
    await symlink(join(directory.path, 'elsewhere'), join(directory.path, 'p', 'team'))

    expect(await loadFrom(directory.path, ['p'])).toEqual([
      'p/team: is a link to a directory; name that directory itself',
    ])
  })

  it.each([
    ['member', 901, Array.from({ length: 1000 }, (_, index) => `k${index}: 1`)],
    [
      'policy',
      899,
      ['policies:', ...Array<string>(1000).fill(' - { name: a, scope: {}, rules: [] }')],
    ],
  ])(
    'with a problem in every %s are reported in a hundred lines and a count',
    async (_, more, lines) => {
      const told = await load({ 'a.yaml': lines.join('\n') })

      expect(told).toHaveLength(101)
      expect(told.at(-1)).toBe(`and ${more} more problems`)
    },
  )

  it('may be YAML or JSON, with one policy or many', async () => {
    expect(
      await load({
        'a.yaml': `# comment\n${one('a')}`,
        'b.yml': `${one('b')}---\n${one('c')}---\n`,
        'c.json': '{"$schema":"x","policies":[{"name":"d","scope":{"teams":["t"]},"rules":[]}]}',
        'd.yaml': 'policies: []',
      }),
    ).toEqual(['a', 'b', 'c', 'd'])
  })

  it('are found by an ending in any letter case, in a directory and alone', async () => {
    const files = {
      'p/allow.yaml': one('a'),
      'p/deny.YAML': one('d'),
      'p/x.Json': '{"policies":[]}',
    }

    expect(await load(files, ['p'])).toEqual(['a', 'd'])
    expect(await load(files, ['p/deny.YAML'])).toEqual(['d'])
  })

  it('are named when they are not read', async () => {
    const files = {
      'p/allow.yaml': one('a'),
      'p/deny.yaml.txt': one('b'),
      'p/in/deny.jsonc': one('c'),
      'p/.deny.yaml': one('d'),
      'p/.gitignore': '',
      'p/.palisade.schema.json': '{}',
    }
    const told = 'not read: p/.deny.yaml, p/deny.yaml.txt, p/in/deny.jsonc; a policy file ends in'

    expect(await load(files, ['p'])).toEqual(['a', expect.stringContaining(told)])
  })

  it('that are not read are counted beyond five', async () => {
    const others = Object.fromEntries(
      ['1', '2', '3', '4', '5', '6', '7'].map((n) => [`p/${n}`, '']),
    )

    expect(await load({ ...others, 'p/a.yaml': one('a') }, ['p'])).toEqual([
      'a',
      'not read: p/1, p/2, p/3, p/4, p/5 and 2 more; ' +
        'a policy file ends in `.yaml`, `.yml` or `.json`',
    ])
  })

  it('are found below a directory, by name, without hidden files', async () => {
    const files = {
      'p/z.yaml': one('z'),
      'p/a/inner.yml': one('inner'),
      'p/a.json': '{"policies":[{"name":"json","rules":[]}]}',
      'p/.hidden.yaml': one('hidden'),
      'p/.git/config.yaml': one('git'),
      'p/node_modules/x/y.yaml': one('dependency'),
      'p/README.md': '# no policies',
    }
    const told = expect.stringContaining('not read: p/.hidden.yaml, p/README.md;') as string

    expect(await load(files, ['p'])).toEqual(['json', 'inner', 'z', told])
    expect(await load(files, ['p', 'p/z.yaml', './p/z.yaml'])).toEqual(['json', 'inner', 'z', told])
  })

  it.each<[string, Files, readonly string[], string]>([
    ['an empty directory', { 'p/README.md': '' }, ['p'], 'p: has no policy file'],
    ['another kind of file', { 'p.txt': one('a') }, ['p.txt'], 'p.txt: write a file that ends in'],
    ['a file that is missing', {}, ['p.yaml'], 'p.yaml: no such file or directory'],
    [
      'an empty file',
      { 'p.yaml': '# nothing\n' },
      ['p'.concat('.yaml')],
      'p.yaml: is empty; write',
    ],
    [
      'bytes that are not text',
      { 'p/x.yaml': Uint8Array.of(0xff) },
      ['p'],
      'p/x.yaml: is not UTF-8 text',
    ],
  ])('refuse %s', async (_title, files, names, message) => {
    const lines = await load(files, names)
    expect(lines).toHaveLength(1)
    expect(lines[0]).toContain(message)
  })

  it('are refused with both positions of a repeated policy', async () => {
    expect(await load({ 'a.yaml': `\n${one('web')}`, 'b.yaml': one("' web '") })).toEqual([
      'b.yaml:1:14: policy `web` stands already at a.yaml:2:14',
    ])
  })

  it('follow a link inside the directory and refuse one that leaves it', async () => {
    await using directory = await temporaryDirectory()
    const at = (name: string) => join(directory.path, name)
    await mkdir(at('p/..data'), { recursive: true })
    await writeFile(at('p/..data/web.yaml'), one('web'))
    await symlink('..data/web.yaml', at('p/web.yaml'))
    expect(await loadFrom(directory.path, ['p'])).toEqual(['web'])

    await writeFile(at('outside.yaml'), one('outside'))
    await symlink('../outside.yaml', at('p/out.yaml'))
    expect(await loadFrom(directory.path, ['p'])).toEqual([
      'p/out.yaml: is a link to a file outside p; name the file itself',
    ])
  })
})

describe('a file', () => {
  it.each<[string, string, string]>([
    ['a member twice', 'policies: []\npolicies: []', 'p.yaml:2:1: member `policies` stands twice'],
    [
      'an alias',
      'policies: &all []\nx: *all',
      'p.yaml:1:16: anchor `&all` is not read; leave it out',
    ],
    ['a tag of its own', 'policies: !mine []', 'p.yaml:1:11: unresolved tag: !mine'],
    [
      'a tag that changes a type',
      'policies: [{ name: !!str 1, rules: [] }]',
      'p.yaml:1:26: tag `tag:yaml.org,2002:str` is not read',
    ],
    ['a merge', 'policies: [{ <<: { name: a }, rules: [] }]', 'p.yaml:1:14: unknown member `<<`'],
    ['a key that is not text', 'policies: []\n? [a]\n: 1', 'all keys must be strings'],
    [
      'a tab for indentation',
      'policies:\n\t- name: x',
      'p.yaml:2:1: tabs are not allowed as indentation',
    ],
    ['a bracket that stays open', 'policies: [', 'p.yaml:1:'],
    ['a list as the document', '- name: web', 'p.yaml:1:1: must be an object, not an array'],
    ['a string as the document', 'policies', 'p.yaml:1:1: must be an object, not a string'],
    [
      'an unknown member',
      'policies: []\nprune: true',
      'p.yaml:2:1: unknown member `prune`; write one of `$schema`, `policies`',
    ],
    ['a prototype', 'policies: []\n__proto__: {}', 'p.yaml:2:1: unknown member `__proto__`'],
    [
      'a policy without rules',
      'policies:\n  - name: web',
      'p.yaml:2:5: `rules` is missing; must be an array',
    ],
    [
      'rules that are empty by mistake',
      'policies:\n  - name: web\n    rules:',
      'p.yaml:3:5: `rules` must be an array, not null',
    ],
    [
      'a name that reads as a number',
      'policies: [{ name: 2026, rules: [] }]',
      'p.yaml:1:14: `name` must be a string, not a number; put it in quotes',
    ],
    [
      'a mistyped member',
      ruled('desision: allow', 'actions: [read]', 'resources: [/x]'),
      'p.yaml:5:9: unknown member `desision`; did you mean `decision`?',
    ],
    [
      'an unknown action',
      ruled('actions: [connect]', 'decision: allow', 'resources: [a.b]'),
      'p.yaml:5:19: `connect` is not known',
    ],
    [
      'a bad resource',
      ruled('actions: [connect:tcp]', 'decision: allow', 'resources:', '  - a.b', '  - a*.b'),
      'p.yaml:9:13: `a*.b`',
    ],
    [
      'a rule twice',
      `${ruled('actions: [read]', 'decision: allow', 'resources: [/x]')}\n` +
        '      - { name: sites, actions: [read], decision: deny, resources: [/x] }',
      'p.yaml:8:11: rule `sites` stands twice in its policy',
    ],
    [
      'another domain',
      `${ruled('actions: [read]', 'decision: allow', 'resources: [/x]')}\n` +
        '      - { name: net, actions: [connect:tcp], decision: deny, resources: [x.y] }',
      'p.yaml:8:22: `connect:tcp` does not belong to the filesystem domain',
    ],
    ['nesting without end', `policies: ${'['.repeat(100_000)}`, 'nesting is deeper than 32 levels'],
    ['keys that would take minutes', '? '.repeat(5_000), 'nesting is deeper than 32 levels'],
    [
      'indentation without end',
      Array.from({ length: 500 }, (_, depth) => `${' '.repeat(depth)}a:`).join('\n'),
      'nesting is deeper than 32 levels',
    ],
  ])('with %s is reported with line and column', async (_title, text, message) => {
    const lines = await load({ 'p.yaml': text })
    expect(lines.join('\n')).toContain(message)
    for (const line of lines) expect(line).toMatch(/^p\.yaml:\d+:\d+: /)
  })

  it.each([
    ['{"policies": [],\n "policies": []}', 'p.json:2:2: member `policies` stands twice'],
    ['{"policies": [\n', 'p.json:2:1: the text is not valid JSON'],
    ['{"policies": [\n] // none\n}', 'p.json:2:3: the text is not valid JSON'],
    ['{"policies": [{\n\t"name": "web",\n\t"rules": 1}]}', 'p.json:3:2: `rules` must be an array'],
    ['policies: []', 'p.json:1:1: the text is not valid JSON'],
  ])('JSON is read strictly: %j', async (text, message) => {
    expect((await load({ 'p.json': text }))[0]).toContain(message)
  })

  it('has each problem on a line, up to a hundred for all files', async () => {
    const bad = ruled('actions: [read]', 'decision: allow', `resources: [${'x, '.repeat(70)}]`)
    const lines = await load({ 'a.yaml': bad, 'b.yaml': bad.replace('web', 'other') })

    expect(lines).toHaveLength(101)
    expect(lines.at(-1)).toBe('and 40 more problems')
  })

  it('holds as many rules as an organization may have', async () => {
    const policies = Array.from({ length: 100 }, (_, policy) => ({
      name: `policy ${policy}`,
      rules: Array.from({ length: 250 }, (_rule, index) => ({
        name: `rule ${index}`,
        actions: ['connect:tcp'],
        decision: 'allow',
        resources: [`h${index}.p${policy}.example:443`],
      })),
    }))

    expect(await load({ 'p.json': JSON.stringify({ policies }) })).toHaveLength(100)
  })
})
