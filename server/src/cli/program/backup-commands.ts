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
Works while the server runs. The copy is one snapshot, and every page, reference and row of it is
verified. It contains the keys that sign policies and access tokens, and the hashes of all passwords
and tokens: protect it like the data directory (its mode is 0600), and encrypt it when it leaves the
machine. For PostgreSQL use \`pg_dump\`.

The file ends with a seal, the SHA-256 of the bytes before it, by which \`restore\` detects damage.
Keep the printed SHA-256 elsewhere to detect a forged file too: \`sha256sum\` prints the same.

Examples:
  palisade-server backup /var/backups/palisade-2026-11-21.db
  palisade-server backup --force --json /var/backups/palisade.db`

const RESTORE_HELP = `
The server must be stopped. Before it replaces the database, it verifies the backup – its seal,
every page and reference, every history, and the stored rows against their last events – and
migrates it to the schema of this release. A copy not made by \`backup\` has no seal: give its
SHA-256. --unverified reports faults of seal, history and state instead of refusing them.
With --force an existing database is kept beside the new one, never overwritten.

The restored state is that of the backup: credentials revoked since are valid again, and later
changes are lost. Grants of access and open requests end, because some may have been revoked since.
Revisions are raised to at least the time in milliseconds, so that devices accept the older
policies, even after a second restore; make sure that the clock is right.

Every history gets the event \`organization.restored\`. A reader with a cursor after the lost events
is refused and must start over. A webhook receiver that remembers each \`webhook-id\` must forget
those from after the backup: they are used again for other events.

Examples:
  palisade-server restore /var/backups/palisade-2026-11-21.db
  palisade-server restore --sha256 0dd3c66d… /mnt/backups/palisade.db`

/** `backup` and `restore`. */
export function addBackup(program: Command): void {
  program
    .command('backup')
    .description('copy the database of the data directory to a file, which contains secrets')
    .argument('<file>', 'file to write')
    .option('--force', 'replace an existing file')
    .option('--json', 'print one JSON object')
    .addHelpText('after', BACKUP_HELP)
    .action((file: string, options: BackupOptions) =>
      backupCommand(readProcessConfig(), systemSources(), { ...options, file }),
    )
  program
    .command('restore')
    .description('restore the database of the data directory from a backup')
    .argument('<file>', 'a file that `backup` wrote')
    .option('--force', 'move an existing database aside')
    .option('--sha256 <hex>', 'refuse a file unless it has this SHA-256, printed by `backup`')
    .option('--unverified', 'restore a backup that does not verify, and report its faults')
    .option('--json', 'print one JSON object')
    .addHelpText('after', RESTORE_HELP)
    .action((file: string, options: RestoreOptions) =>
      restoreCommand(readProcessConfig(), systemSources(), { ...options, file }),
    )
}
