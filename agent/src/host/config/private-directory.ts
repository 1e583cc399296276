import { socketDirectoryProblem } from '@palisade/client'
import { chmod, lstat, mkdir } from 'node:fs/promises'
import { AgentError, systemErrorCode } from '../errors.ts'

/**
 * Creates the agent's own directory, or closes an existing one to other users. Throws
 * `ERR_DATA_DIRECTORY` when it cannot be created, is not a directory, or belongs to another user.
 */
export async function preparePrivateDirectory(directory: string): Promise<void> {
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 })
    const found = await lstat(directory)
    if (found.isDirectory() && found.uid === process.getuid?.()) await chmod(directory, 0o700)
  } catch (error) {
    const code = systemErrorCode(error) ?? 'unknown error'
    throw new AgentError(
      'ERR_DATA_DIRECTORY',
      [
        `cannot make the directory \`${directory}\` (${code}); ` +
          'set PALISADE_DATA_DIR to a writable place',
      ],
      error,
    )
  }
  const problem = await socketDirectoryProblem(directory)
  if (problem !== null) throw new AgentError('ERR_DATA_DIRECTORY', [problem])
}
