import type { SystemCall } from './system-calls.ts'

/** Operation not permitted: the answer that a program expects from a restricted account. */
export const EPERM = 1
/** The kernel does not have the call: programs and libc then use an older one. */
export const ENOSYS = 38

interface Refusal {
  readonly errno: number
  readonly calls: readonly SystemCall[]
}

/**
 * System calls that are refused whatever their arguments.
 *
 * Most need a capability that no process of a sandbox has. They are refused here too, because each
 * is a large part of the kernel whose faults have been used to leave containers. Like the default
 * profile of container engines, the list keeps `vmsplice` and `process_vm_readv`.
 *
 * `ptrace` stays for debuggers and leak checkers. It reaches only processes of the same process
 * namespace, all under the same filter, and Linux 4.8 and later filter a call again after a tracer
 * has changed it.
 */
export const REFUSALS: readonly Refusal[] = [
  // A ring makes sockets and opens files without a system call that a filter sees.
  { errno: ENOSYS, calls: ['io_uring_setup', 'io_uring_enter', 'io_uring_register'] },
  // Its flags are in memory, where a filter cannot read them. libc then calls `clone`.
  { errno: ENOSYS, calls: ['clone3'] },
  // A namespace of its own has all capabilities again, and with them the rest of this list.
  { errno: EPERM, calls: ['unshare', 'setns'] },
  {
    errno: EPERM,
    calls: [
      'mount',
      'umount2',
      'pivot_root',
      'chroot',
      'fsopen',
      'fsconfig',
      'fsmount',
      'fspick',
      'move_mount',
      'open_tree',
      'mount_setattr',
    ],
  },
  // A handle names a file outside the view; fanotify reports on such files.
  { errno: EPERM, calls: ['open_by_handle_at', 'fanotify_init'] },
  // A keyring of the session is shared with processes outside.
  { errno: EPERM, calls: ['add_key', 'request_key', 'keyctl'] },
  { errno: EPERM, calls: ['bpf', 'perf_event_open', 'userfaultfd', 'lookup_dcookie'] },
  {
    errno: EPERM,
    calls: ['init_module', 'finit_module', 'delete_module', 'kexec_load', 'kexec_file_load'],
  },
  { errno: EPERM, calls: ['iopl', 'ioperm', 'uselib'] },
  { errno: EPERM, calls: ['settimeofday', 'clock_settime', 'adjtimex', 'clock_adjtime'] },
  {
    errno: EPERM,
    calls: ['swapon', 'swapoff', 'quotactl', 'quotactl_fd', 'acct', 'reboot', 'syslog'],
  },
]
