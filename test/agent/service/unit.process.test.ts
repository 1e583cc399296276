import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { isUnchanged, markText } from '../../../agent/src/service/marked-text.ts'
import { findDistrust } from '../../../agent/src/service/trusted-program.ts'
import { formatUnit } from '../../../agent/src/service/unit.ts'
import { BUILT_CLI } from '../../built-programs.ts'
import { temporaryDirectory } from '../fixture/temporary-directory.ts'

const VERIFY = '/usr/bin/systemd-analyze'
const MAN = '/usr/bin/man'
const PAGES = ['palisade-agent.8', 'palisade.1'].map((name) => join('agent/man', name))

describe('the unit of the agent', () => {
  it('quotes words and variables for systemd', () => {
    const unit = formatUnit('user', {
      command: ['/opt/a b/node', '--x="1"', String.raw`back\slash`, '50%', '$HOME'],
      variables: { PALISADE_DATA_DIR: '/home/a b/50%/$HOME' },
    })

    expect(unit).toContain(
      String.raw`ExecStart="/opt/a b/node" "--x=\"1\"" "back\\slash" "50%%" "$$HOME"` + '\n',
    )
    expect(unit).toContain('Environment="PALISADE_DATA_DIR=/home/a b/50%%/$HOME"\n')
  })

  it('names a program with a dollar sign as it is, because systemd expands arguments alone', () => {
    const unit = formatUnit('user', { command: ['/opt/a$b/node', '$HOME'], variables: {} })

    expect(unit).toContain('ExecStart="/opt/a$b/node" "$$HOME"\n')
  })

  it('refuses a word that would begin another line', () => {
    const broken = { command: ['/opt/node\nUser=root'], variables: {} }

    expect(() => formatUnit('system', broken)).toThrow(RangeError)
  })

  it('keeps users from the state, and lets a user unit make namespaces', () => {
    const settings = { command: ['/opt/node'], variables: {} }

    expect(formatUnit('system', settings)).toContain('StateDirectoryMode=0700\n')
    expect(formatUnit('user', settings)).not.toMatch(/Restrict|SystemCallFilter|Protect|Private/)
  })

  it.skipIf(!existsSync(VERIFY)).each(['user', 'system'] as const)(
    'satisfies systemd as a %s unit',
    async (kind) => {
      const folder = await temporaryDirectory()
      const path = join(folder, 'palisade-agent.service')
      const command = [process.execPath, '--x=%$"', '/opt/palisade agent.cjs', 'start']
      await writeFile(path, formatUnit(kind, { command, variables: { PALISADE_DATA_DIR: '/a b' } }))
      await mkdir(join(folder, 'run'))
      const scope = kind === 'user' ? ['--user'] : []

      const verified = spawnSync(VERIFY, [...scope, '--man=no', 'verify', path], {
        encoding: 'utf8',
        env: { ...process.env, XDG_RUNTIME_DIR: join(folder, 'run') },
      })

      expect(verified).toMatchObject({ status: 0, stdout: '', stderr: '' })
    },
  )
})

describe('a marked text', () => {
  it.each(['#', '.\\"'] as const)('shows whether it was changed, after %s', (comment) => {
    const text = markText('[Unit]\nA=1\n', comment)

    expect(isUnchanged(text)).toBe(true)
    expect(isUnchanged(`${text}B=2\n`)).toBe(false)
    expect(isUnchanged(text.replace('A=1', 'A=2'))).toBe(false)
    expect(isUnchanged(text.slice(text.indexOf('\n') + 1))).toBe(false)
    expect(isUnchanged('')).toBe(false)
  })
})

describe('a program that root runs', () => {
  const root = { uid: 0, mode: 0o100755 }

  it('is trusted where root alone can change it and every directory above', async () => {
    expect(await findDistrust('/usr/bin/env', async () => root)).toBe(null)
  })

  it.each([
    ['/usr', { uid: 1_000, mode: 0o40755 }, '`/usr` belongs to another user'],
    ['/usr/bin', { uid: 0, mode: 0o40775 }, 'other users can write to `/usr/bin`'],
    ['/', { uid: 0, mode: 0o40757 }, 'other users can write to `/`'],
  ])('is not trusted below %s of %j', async (path, status, why) => {
    const statusOf = async (each: string) => (each === path ? status : root)

    expect(await findDistrust('/usr/bin/env', statusOf)).toContain(why)
  })
})

describe('the manual', () => {
  it.skipIf(!existsSync(MAN)).each(PAGES)('%s has no fault of its format', (page) => {
    const env = { ...process.env, LC_ALL: 'C.UTF-8' }
    const shown = spawnSync(MAN, ['--warnings', '-l', '-Tutf8', page], { encoding: 'utf8', env })

    expect(shown.stderr).toBe('')
    expect(shown.stdout).not.toBe('')
  })

  it('names commands that exist', () => {
    const page = readFileSync('agent/man/palisade.1', 'utf8')
    const named = new Set([...page.matchAll(/palisade ([a-z]+)/g)].map(([, name]) => name))
    const help = execFileSync(process.execPath, [...BUILT_CLI, '--help'], { encoding: 'utf8' })

    expect(named.size).toBeGreaterThan(10)
    for (const name of named) expect(help).toMatch(new RegExp(`^  ${name} `, 'm'))
  })
})
