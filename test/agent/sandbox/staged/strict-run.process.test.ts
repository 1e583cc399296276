import { existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { PolicyBundle } from '../../../../agent/src/policy/decision/policy-bundle.ts'
import { bundleClaims, policyOf, type RuleLine } from '../../fixture/bundle.ts'
import { startSandboxMachine } from '../fixture/machine.ts'

/** Opens the project but for the denied paths. */
function opened(project: string, ...denies: readonly RuleLine[]): PolicyBundle {
  return bundleClaims({
    policies: [
      policyOf(
        ['allow', 'read', `${project}/**`, project],
        ['allow', 'write', `${project}/**`, project],
        ...denies,
      ),
    ],
  })
}

const STRICT = ['--strict', '--', 'sh', '-c'] as const
const APPLY = ['--strict', '--apply', '--', 'sh', '-c'] as const

describe('palisade run --strict', () => {
  it('keeps every change apart until it is applied', async () => {
    const machine = await startSandboxMachine(opened)
    await writeFile(join(machine.project, 'old.txt'), 'old')
    const ended = await machine.run([
      ...STRICT,
      'cat old.txt; echo new >old.txt; echo x >b; exit 7',
    ])
    expect(ended).toMatchObject({ code: 7, stdout: 'old' })
    expect(ended.stderr).toContain('palisade staged apply')
    expect(readFileSync(join(machine.project, 'old.txt'), 'utf8')).toBe('old')
    expect(existsSync(join(machine.project, 'b'))).toBe(false)
    const { sessions } = await machine.sandboxes.staged.list()
    expect(sessions).toMatchObject([{ state: 'kept', workspaces: [machine.project] }])

    const applied = await machine.sandboxes.staged.apply({ id: sessions[0]?.id })
    expect(applied).toMatchObject({ outcome: 'applied', is_kept: false, counts: { applied: 2 } })
    expect(readFileSync(join(machine.project, 'old.txt'), 'utf8')).toBe('new\n')
    expect(readFileSync(join(machine.project, 'b'), 'utf8')).toBe('x\n')
    expect(await machine.sandboxes.staged.list()).toEqual({ sessions: [] })
  })

  it('copies out created, changed, deleted and linked paths with --apply', async () => {
    const machine = await startSandboxMachine(opened)
    const at = (name: string): string => join(machine.project, name)
    await mkdir(at('gone/deep'), { recursive: true })
    await mkdir(at('again'))
    for (const name of ['gone/deep/a', 'again/old', 'file', 'script', 'same'])
      await writeFile(at(name), name)
    const script =
      'rm -r gone again; mkdir again; echo 1 >again/new; echo 2 >>file; chmod 755 script; ' +
      'mkdir -p one/two; echo 3 >one/two/f; ln -s one/two link; touch same; mv one/two/f moved; ' +
      'ln moved hard; exit 3'
    const ended = await machine.run([...APPLY, script])
    expect(ended.code).toBe(3)
    expect(readdirSync(machine.project).toSorted()).toEqual(
      ['again', 'file', 'hard', 'link', 'moved', 'one', 'same', 'script'].toSorted(),
    )
    expect(readdirSync(at('again'))).toEqual(['new'])
    expect(readFileSync(at('file'), 'utf8')).toBe('file2\n')
    expect(lstatSync(at('script')).mode & 0o777).toBe(0o755)
    expect(lstatSync(at('link')).isSymbolicLink()).toBe(true)
    expect(readFileSync(at('hard'), 'utf8')).toBe('3\n')
    expect(readdirSync(at('one/two'))).toEqual([])
    expect(await machine.sandboxes.staged.list()).toEqual({ sessions: [] })
  })
})
