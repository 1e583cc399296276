import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { readProfiles } from '../../../../packages/cli/src/sandbox/profile/read-profiles.ts'

const problemsOf = (text: string): readonly string[] => {
  const outcome = readProfiles('f.yaml', text)
  return outcome.kind === 'invalid' ? outcome.problems : []
}

describe('readProfiles', () => {
  it('reads all members', () => {
    const text = `profiles:
  npm:
    workspaces: ['.:rw', ../other:ro]
    env: [NPM_TOKEN]
    limits: {processes: 200, tmp: 512M}
    publish: ['3000:8000']
    command: [npm, ci]
  empty: {}
`
    expect(readProfiles('f.yaml', text)).toEqual({
      kind: 'read',
      profiles: [
        {
          name: 'npm',
          workspaces: ['.:rw', '../other:ro'],
          env: ['NPM_TOKEN'],
          limits: [
            ['processes', '200'],
            ['tmp', '512M'],
          ],
          publish: ['3000:8000'],
          command: ['npm', 'ci'],
        },
        { name: 'empty', workspaces: [], env: [], limits: [], publish: [], command: null },
      ],
    })
  })

  it('reads the examples, one for each tool', async () => {
    const path = new URL('../../../../examples/profiles/.palisade.yaml', import.meta.url)
    const outcome = readProfiles('examples', await readFile(path, 'utf8'))
    expect(outcome.kind === 'read' ? outcome.profiles.map(({ name }) => name) : outcome).toEqual([
      'claude',
      'codex',
      'gemini',
      'aider',
      'npm',
      'pip',
      'make',
    ])
  })

  it.each([
    ['', 'f.yaml:1:1: the file has no profiles'],
    ['profiles: []', '`profiles` must be an object'],
    ['- a', 'must be an object with `profiles`'],
    ['profiles: {}\nhooks: {}', 'f.yaml:2:1: unknown member `hooks`'],
    ['profiles: {a: {workspace: []}}', 'unknown member `workspace`; did you mean `workspaces`?'],
    ['profiles: {a: {publish: ["80"]}}', 'port 80 of the machine is reserved'],
    [
      'profiles: {a: {trust: yes}}',
      'write one of `workspaces`, `env`, `limits`, `publish`, `command`',
    ],
    ['profiles: {a: {}, a: {}}', 'member `a` stands twice'],
    ['profiles: {a: {env: [A], env: [B]}}', 'member `env` stands twice'],
    ['profiles: {a: &x {}, b: *x}', 'alias `*x` is not read'],
    ['profiles: {a: !x {}}', 'tag'],
    ['profiles: {a: {}}\n---\nprofiles: {}', 'a second document is not read'],
    ['profiles: {a: {env: NPM_TOKEN}}', '`env` must be an array'],
    ['profiles: {a: {env: [1]}}', 'put numbers and `true` in quotes'],
    ['profiles: {a: {env: ["A=b"]}}', '`A=b` is not the name of a variable; write names only'],
    ['profiles: {a: {workspaces: [""]}}', 'texts of 1 to 4096 characters'],
    ['profiles: {a: {workspaces: ["a\\0b"]}}', 'texts of 1 to 4096 characters'],
    ['profiles: {a: {command: []}}', '`command` must have at least'],
    ['profiles: {a: {command: npm ci}}', '`command` must be an array'],
    ['profiles: {a: {limits: {cpu: 1}}}', '`cpu` is no limit; write one of processes'],
    ['profiles: {a: {limits: {tmp: lots}}}', 'the limit `tmp` must be a size'],
    ['profiles: {a: {limits: [1]}}', '`limits` must be an object'],
    ['profiles: {"../a": {}}', 'is no name of a profile'],
    ['profiles: {__proto__: {}}', '`__proto__` is no name of a profile'],
    [`profiles: ${'['.repeat(1_000)}`, 'nesting is deeper'],
    ['profiles: {a', 'f.yaml:1:'],
  ])('refuses %j', (text, problem) => {
    expect(problemsOf(text).join('\n')).toContain(problem)
  })

  it.each([
    'LD_PRELOAD',
    'LD_LIBRARY_PATH',
    'NODE_OPTIONS',
    'BASH_ENV',
    'ENV',
    'HOME',
    'PATH',
    'PALISADE_SANDBOX',
    'GIT_CONFIG_COUNT',
    'SSH_AUTH_SOCK',
    'https_proxy',
    'HTTP_PROXY',
  ])('refuses to pass %s', (name) => {
    expect(problemsOf(`profiles: {a: {env: [${name}]}}`)).toEqual([
      expect.stringContaining(`a profile cannot pass \`${name}\``),
    ])
  })
})
