import { quoteShellWord } from '../shell-word.ts'

/** A bind inside the view of a sandbox. */
export interface MountCommand {
  /** A path inside the view. */
  readonly source: string
  readonly target: string
  readonly access: 'ro' | 'rw'
  /** Whether the source forbids execution. A mount must not lose a flag that it began with. */
  readonly isNoExec: boolean
}

/** How a resident process is started and told of a mount. It answers a line with a number. */
export interface MountDialect {
  /** Absolute path inside the view, and arguments. */
  readonly command: readonly string[]
  readonly format: (command: MountCommand) => string
  /** Limits the entries of the private file system at `target`. */
  readonly formatEntries: (target: string, entries: number) => string
}

export interface DialectDeps {
  /** Whether the file exists. The system tree of the view is that of the host. */
  readonly exists: (path: string) => boolean
  /** The processor as Node names it: `x64`. */
  readonly arch: string
}

const PERL = '/usr/bin/perl'
/** Numbers of mount(2). */
const SYSTEM_CALLS: Readonly<Partial<Record<string, number>>> = { x64: 165, arm64: 40 }
const MS_RDONLY = 1
const MS_NOSUID = 2
const MS_NODEV = 4
const MS_NOEXEC = 8
const MS_REMOUNT = 32
const MS_BIND = 4096
const MS_REC = 16_384

/**
 * Returns the fastest dialect of the machine. Perl calls mount(2) itself; a shell has to start
 * mount(8), which takes several times as long as all the rest of a mask.
 */
export function chooseDialect({ arch, exists }: DialectDeps): MountDialect {
  const call = SYSTEM_CALLS[arch]
  return call === undefined || !exists(PERL) ? SHELL : perlDialect(call)
}

function perlDialect(call: number): MountDialect {
  return {
    // Without modules, so that it reads no file but itself. Paths come in hexadecimal.
    command: [PERL, '-f', '-e', perlProgram(call)],
    format: ({ source, target, ...command }) =>
      `${flagsOf(command)} ${hexadecimal(source)} ${hexadecimal(target)}\n`,
    formatEntries: (target, entries) =>
      `${MS_REMOUNT | MS_NOSUID | MS_NODEV} - ${hexadecimal(target)} ` +
      `${hexadecimal(`nr_inodes=${entries}`)}\n`,
  }
}

/**
 * Binds with the masks below, which a directory that becomes read-only would bare otherwise. Then
 * sets the flags, which mount(2) ignores in a bind.
 */
function perlProgram(call: number): string {
  return [
    '$| = 1;',
    'while (<STDIN>) {',
    'my ($flags, $from, $to, $data) = split;',
    '$from = pack("H*", $from); $to = pack("H*", $to);',
    'my $failed = 0;',
    `if ($data) { $data = pack("H*", $data);`,
    `$failed = syscall(${call}, $from, $to, 0, $flags + 0, $data) != 0; }`,
    `else { $failed = syscall(${call}, $from, $to, 0, ${MS_BIND | MS_REC}, 0) != 0`,
    `|| syscall(${call}, $from, $to, 0, $flags + 0, 0) != 0; }`,
    'print $failed ? "1\\n" : "0\\n";',
    '}',
  ].join(' ')
}

function flagsOf({ access, isNoExec }: Pick<MountCommand, 'access' | 'isNoExec'>): number {
  const always = MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV
  return always | (access === 'ro' ? MS_RDONLY : 0) | (isNoExec ? MS_NOEXEC : 0)
}

function hexadecimal(text: string): string {
  return Buffer.from(text).toString('hex')
}

const SILENT = '>/dev/null 2>&1 </dev/null; echo $?'

/** The programs are those of the read-only system tree, by absolute paths. */
const SHELL: MountDialect = {
  command: ['/usr/bin/sh'],
  format({ source, target, access, isNoExec }) {
    const options = ['rbind', access, 'nosuid', 'nodev', ...(isNoExec ? ['noexec'] : [])].join()
    return (
      `/usr/bin/mount -n -o ${options} -- ${quoteShellWord(source)} ${quoteShellWord(target)} ` +
      `${SILENT}\n`
    )
  },
  formatEntries: (target, entries) =>
    `/usr/bin/mount -n -o remount,nosuid,nodev,nr_inodes=${entries} -- ${quoteShellWord(target)} ` +
    `${SILENT}\n`,
}
