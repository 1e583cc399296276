/** The code of a system call's failure, such as `ENOENT`; empty for any other value. */
export function systemCode(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string'
    ? error.code
    : ''
}

/** Describes a file system failure. */
export function describeSystemError(error: unknown): string {
  const code = systemCode(error)
  switch (code) {
    case 'ENOENT':
      return 'no such file or directory'
    case 'EACCES':
    case 'EPERM':
      return 'permission denied'
    case 'EISDIR':
    case 'ERR_FS_EISDIR':
      return 'is a directory'
    case 'ENOTDIR':
      return 'a part of the path is not a directory'
    case 'EEXIST':
      return 'exists already'
    case 'ELOOP':
      return 'is a symbolic link'
    case 'ENOSPC':
      return 'no space left on the device'
    case 'EROFS':
      return 'the file system is read-only'
    default:
      return code === '' ? 'failed' : `failed with ${code}`
  }
}
