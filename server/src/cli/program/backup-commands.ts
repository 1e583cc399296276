import type { Command } from 'commander'
import {
  backupCommand,
  restoreCommand,
  type BackupOptions,
  type RestoreOptions,
} from '../backup.ts'
import { readProcessConfig } from '../../config/config.ts'
import { systemSources } from '../../platform/sources.ts'

const BACKUP_HELP = `
Works while the server runs. The copy is of one moment, and every page, reference and row of it
was checked when the command succeeds. It holds the keys that sign policy and access tokens, and
the hashes of all passwords and tokens: keep it as you keep the data directory (it has mode 0600),
encrypted when it leaves the machine. For PostgreSQL use \`pg_dump\`.

The file ends with a seal, the SHA-256 of all before it, by which \`restore\` notices damage. Keep the
SHA-256 that is printed elsewhere to notice a forged file as well: it is what \`sha256sum\` prints.

Examples:
  $ palisade-server backup /var/backups/palisade-2026-11-21.db
  $ palisade-server backup --force --json /var/backups/palisade.db`

const RESTORE_HELP = `
The server must be stopped. Before anything is replaced the backup is checked – its seal, every page and
reference, every history, and what is stored against the last event of it – and brought to the schema
of this release. A copy that \`backup\` did not make has no seal: give its SHA-256. --unverified tells
faults of seal, history and state instead of refusing them.
With --force a database that is there is kept beside the new one, never overwritten.

Everything is as it was at the backup: what was revoked since is valid again, and what was made
since is gone. Revisions jump ahead, to the time in milliseconds at least, so that devices accept
the older policies, also after a second restore; see that the clock is right.

Every history gets the event \`organization.restored\`. Whoever reads events with a cursor after what
is lost is refused and has to start anew; a receiver of webhooks that remembers each \`webhook-id\`
must forget those of after the backup, which come again for other events.

Examples:
  $ palisade-server restore /var/backups/palisade-2026-11-21.db
  $ palisade-server restore --sha256 0dd3c66d… /mnt/backups/palisade.db`

/** `backup` and `restore`. */
export function addBackup(program: Command): void {
  program
    .command('backup')
    .description('copy the database of the data directory to a file; it holds secrets')
    .argument('<file>', 'file to write')
    .option('--force', 'replace the file when there is one')
    .option('--json', 'print one JSON object')
    .addHelpText('after', BACKUP_HELP)
    .action((file: string, options: BackupOptions) =>
      backupCommand(readProcessConfig(), systemSources(), { ...options, file }),
    )
  program
    .command('restore')
    .description('make the database of the data directory from a backup')
    .argument('<file>', 'what `backup` wrote')
    .option('--force', 'put a database that is there aside')
    .option('--sha256 <hex>', 'refuse a file with another SHA-256 than `backup` printed')
    .option('--unverified', 'restore also what does not verify, and tell the faults')
    .option('--json', 'print one JSON object')
    .addHelpText('after', RESTORE_HELP)
    .action((file: string, options: RestoreOptions) =>
      restoreCommand(readProcessConfig(), systemSources(), { ...options, file }),
    )
}
