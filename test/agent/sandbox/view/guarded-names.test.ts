import { compilePolicy, decide } from '@palisade/policy-core'
import { describe, expect, it } from 'vitest'
import { guardedPaths, openedByRule } from '../../../../agent/src/sandbox/view/guarded-names.ts'
import { GUARDED_PROGRAMS } from '../../../../agent/src/sandbox/view/guarded-programs.ts'
import { policyOf, type RuleLine } from '../../fixture/bundle.ts'

/** Names that programs were seen to obey, of each kind. */
const OBEYED = [
  '.git/hooks .git/config .git/config.worktree .git/info/attributes .hg/hgrc .jj/repo/config.toml',
  '.exrc .nvim.lua .dir-locals.el a.code-workspace .vscode .idea .zed .theia .fleet .run',
  '.opencode opencode.json .kiro .roo .continue .amazonq .clinerules .github/hooks .copilot',
  '.cursorrules .claude .mcp.json .cursor .codex .gemini .windsurf .aider.conf.yml',
  '.yarnrc.yml .npmrc .pnpmfile.cjs lefthook.yml .pre-commit-config.yaml mise.toml .envrc',
  'rust-toolchain.toml rust-toolchain .mvn .bazelrc .bazelversion .bundle/config ansible.cfg',
  '.tool-versions mise/config.toml .Rprofile .RData .ghci hie.yaml .irbrc $irbrc .pryrc .pdbrc',
  '.iex.exs .ocamlinit .octaverc .perldb .pylintrc .ycm_extra_conf.py .hg/sharedpath .gvimrc',
  '.cargo/config.toml .devcontainer.json .devcontainer .husky .palisade.yaml',
].flatMap((names) => names.split(' '))

const guarded = guardedPaths()
const isGuarded = (path: string): boolean => guarded.at(path).denies.write

function opens(path: string, ...rules: readonly RuleLine[]): boolean {
  const policy = compilePolicy({ policies: [policyOf(...rules)] })
  return openedByRule((request) => decide(policy, request))(path)
}

describe('guarded names', () => {
  it.each(OBEYED)('have %s at any depth, but not what resembles it', (name) => {
    expect([`/ws/${name}`, `/ws/a/b/${name}`].map(isGuarded)).toEqual([true, true])
    expect([`/ws/${name}x`, `/ws/${name}.refused-by-palisade`].map(isGuarded)).toEqual([
      false,
      false,
    ])
  })

  it('leave sources and prose open', () => {
    const open = [
      'Makefile package.json AGENTS.md .github/workflows/a.yml .git/HEAD',
      'Cargo.toml pom.xml .pnp.cjs mise/a.toml .bundle/ruby .hg/requires',
    ].flatMap((names) => names.split(' '))
    expect(open.map((name) => `/ws/${name}`).filter(isGuarded)).toEqual([])
  })

  it('have a program, a source and a day for each path', () => {
    for (const { paths, program, since, source } of GUARDED_PROGRAMS) {
      expect(`${program} ${source}`).toMatch(/^\S.* \S/)
      expect(since).toMatch(/^2\d{3}-[01]\d-[0-3]\d$/)
      for (const path of paths) expect(isGuarded(`/ws/${path.replace('*', 'x')}`), path).toBe(true)
    }
  })

  it('are opened by a rule that spells them, and by no other', () => {
    const all = '/ws/**'
    expect(opens('/ws/.envrc', ['allow', 'write', all])).toBe(false)
    expect(opens('/ws/a/.envrc', ['allow', 'write', '/ws/**/.envrc'])).toBe(true)
    expect(opens('/ws/.cargo/config.toml', ['allow', 'write', '/ws/.cargo/**'])).toBe(true)
    expect(opens('/ws/a.code-workspace', ['allow', 'write', '/ws/*.code-workspace'])).toBe(true)
    expect(opens('/ws/a.code-workspace', ['allow', 'write', '/ws/*'])).toBe(false)
    // Many programs keep their files in this directory.
    expect(opens('/ws/.github/hooks', ['allow', 'write', '/ws/.github/**'])).toBe(false)
    expect(opens('/ws/.github/hooks', ['allow', 'write', '/ws/.github/hooks/**'])).toBe(true)
    const denied: RuleLine[] = [
      ['allow', 'write', '/ws/**/.envrc'],
      ['deny', 'write', '/ws/.envrc'],
    ]
    expect(opens('/ws/.envrc', ...denied)).toBe(false)
  })
})
