import { describe, expect, it } from 'vitest'
import type {
  CaptureProgram,
  Captured,
} from '../../../packages/cli/src/runtime/programs/capture-program.ts'
import { checkSandbox } from '../../../packages/cli/src/doctor/sandbox-checks.ts'

const ended = (code: number, output: string): Captured => ({ kind: 'ended', code, output })

/** A machine with all parts, on which `changes` answers some commands otherwise. */
function machine(changes: (words: readonly string[]) => Captured | null): CaptureProgram {
  return async (words) => {
    const changed = changes(words)
    if (changed !== null) return changed
    return ended(0, words[0] === 'bwrap' ? 'bubblewrap 0.8.0\n' : '')
  }
}

const check = (
  changes: (words: readonly string[]) => Captured | null,
  settings: Readonly<Record<string, string>> = {},
) =>
  checkSandbox({
    platform: 'linux',
    captureProgram: machine(changes),
    directory: '/',
    readSetting: (path) => settings[path] ?? null,
  })

describe('the checks of sandboxes', () => {
  it('pass on a machine with all parts', async () => {
    const checks = await check(() => null)
    expect(checks.map(({ outcome }) => outcome)).toEqual(['ok', 'ok', 'ok'])
  })

  it('explain a disk on which changes cannot be kept apart', async () => {
    const checks = await check((words) =>
      words.includes('--mount') && !words.includes('--net')
        ? ended(1, 'mount: wrong fs type\n')
        : null,
    )
    expect(checks.at(-1)).toMatchObject({ name: 'strict', outcome: 'warn' })
    expect(checks.at(-1)?.detail).toContain('wrong fs type')
    expect(checks.at(-1)?.mend).toContain('5.11')
  })

  it('are skipped beside Linux', async () => {
    const deps = {
      captureProgram: machine(() => null),
      directory: '/',
      readSetting: () => null,
    }
    const [first] = await checkSandbox({ ...deps, platform: 'darwin' })
    expect(first).toMatchObject({ outcome: 'skip' })
  })

  it.each([
    ['bwrap', 'bubblewrap'],
    ['nft', 'nftables'],
    ['ip', 'iproute2'],
    ['setpriv', 'util-linux'],
  ])('name the missing program %s and its package', async (name, from) => {
    const [first] = await check(([program]) => (program === name ? { kind: 'missing' } : null))
    expect(first).toMatchObject({ outcome: 'warn', mend: expect.stringContaining(from) })
    expect(first?.detail).toContain(`\`${name}\``)
  })

  it('refuse an old bubblewrap', async () => {
    const [first] = await check(([name]) =>
      name === 'bwrap' ? ended(0, 'bubblewrap 0.6.2') : null,
    )
    expect(first).toMatchObject({ outcome: 'warn', detail: '0.6.2 is too old' })
  })

  it.each([
    ['/proc/sys/kernel/apparmor_restrict_unprivileged_userns', '1', 'AppArmor'],
    ['/proc/sys/kernel/unprivileged_userns_clone', '0', 'keeps users from'],
    ['/proc/sys/user/max_user_namespaces', '0', 'no user namespace'],
    ['/nonexistent', '0', 'namespaces are refused: unshare failed'],
  ])('explain refused namespaces by %s', async (path, value, why) => {
    const refuse = ([name, ...rest]: readonly string[]): Captured | null =>
      name === 'unshare' && rest.length > 1 ? ended(1, 'unshare failed: EPERM\n') : null
    const checks = await check(refuse, { [path]: value })
    expect(checks.at(-1)).toMatchObject({ outcome: 'warn' })
    expect(checks.at(-1)?.detail).toContain(why)
    expect(checks.at(-1)?.mend).not.toBe(null)
  })

  it('explain a kernel without nftables', async () => {
    const checks = await check((words) =>
      words.includes('sh') ? ended(1, 'Error: cannot add table\n') : null,
    )
    expect(checks.at(-1)?.detail).toContain('cannot add table')
    expect(checks.at(-1)?.mend).toContain('nf_tables')
  })
})
