import { describe, expect, it } from 'vitest'
import { isUnchanged, markText } from '../../../agent/src/service/marked-text.ts'
import { findDistrust } from '../../../agent/src/service/trusted-program.ts'
import { formatUnit } from '../../../agent/src/service/unit.ts'

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
