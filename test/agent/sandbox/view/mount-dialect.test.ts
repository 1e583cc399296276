import { describe, expect, it } from 'vitest'
import {
  chooseDialect,
  type MountCommand,
} from '../../../../agent/src/sandbox/view/mount-dialect.ts'
import { quoteShellWord } from '../../../../agent/src/sandbox/shell-word.ts'

const command: MountCommand = { source: "/a'b", target: '/c d\n', access: 'ro', isNoExec: false }

describe('the dialect of the mount shell', () => {
  it('is Perl where Perl is and the number of mount(2) is known', () => {
    const exists = (path: string): boolean => path === '/usr/bin/perl'

    expect(chooseDialect({ arch: 'x64', exists }).command[0]).toBe('/usr/bin/perl')
    expect(chooseDialect({ arch: 'arm64', exists }).command.join(' ')).toContain('syscall(40,')
    expect(chooseDialect({ arch: 'riscv64', exists }).command).toEqual(['/usr/bin/sh'])
    expect(chooseDialect({ arch: 'x64', exists: () => false }).command).toEqual(['/usr/bin/sh'])
  })

  it('puts each command on one line, whatever the paths hold', () => {
    const perl = chooseDialect({ arch: 'x64', exists: () => true })
    const { format } = chooseDialect({ arch: '', exists: () => true })

    expect(perl.format(command)).toBe('4135 2f612762 2f6320640a\n')
    expect(perl.format({ ...command, access: 'rw', isNoExec: true })).toMatch(/^4142 /)
    expect(format(command)).toContain("ro,nosuid,nodev -- '/a'\\''b' '/c d\n' >")
    expect(quoteShellWord('$(c) `d` "e" \\')).toBe('\'$(c) `d` "e" \\\'')
  })
})
