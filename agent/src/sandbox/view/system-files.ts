import type { WRITTEN_SETTINGS } from './root-view.ts'

export interface SandboxUser {
  readonly name: string
  readonly uid: number
  readonly gid: number
  /** The real path of the home directory. */
  readonly home: string
  readonly shell: string
}

/**
 * The agent's own versions of files in `/etc`. The resolver is the agent's, which listens on the
 * loopback address of the sandbox. The user database names the user of the sandbox, root as the
 * owner of system files, and the owner of everything else.
 */
export function systemFiles(
  { name, uid, gid, home, shell }: SandboxUser,
  hostname: string,
): Readonly<Record<(typeof WRITTEN_SETTINGS)[number], string>> {
  const user = `${field(name)}:x:${uid}:${gid}:${field(name)}:${field(home)}:${field(shell)}`
  return {
    'resolv.conf': 'nameserver 127.0.0.1\noptions timeout:2 attempts:2\n',
    hosts: `127.0.0.1 localhost ${field(hostname)}\n::1 localhost ip6-localhost\n`,
    hostname: `${field(hostname)}\n`,
    passwd: lines(
      uid === 0 ? null : 'root:x:0:0:root:/nonexistent:/usr/sbin/nologin',
      user,
      'nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin',
    ),
    group: lines(gid === 0 ? null : 'root:x:0:', `${field(name)}:x:${gid}:`, 'nogroup:x:65534:'),
    'nsswitch.conf': lines('passwd: files', 'group: files', 'hosts: files dns', 'services: files'),
  }
}

/** A colon or a line break would begin another field. */
function field(text: string): string {
  return text.replaceAll(/[:\s\p{Cc}]/gu, '_')
}

function lines(...all: readonly (string | null)[]): string {
  return `${all.filter((line) => line !== null).join('\n')}\n`
}
