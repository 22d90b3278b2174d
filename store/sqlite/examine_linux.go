package sqlite

import "golang.org/x/sys/unix"

// The kinds of file systems by the numbers that Linux gives them (statfs(2), linux/magic.h).
var (
	networks = map[uint32]string{
		0x6969: "NFS", 0x517b: "SMB", 0xff534d42: "CIFS", 0xfe534d42: "SMB2", 0x01021997: "9P", 0x00c36400: "Ceph",
		0x5346414f: "AFS", 0x0bd00bd0: "Lustre", 0x01161970: "GFS2", 0x7461636f: "OCFS2",
	}
	inMemory = map[uint32]string{0x01021994: "tmpfs", 0x858458f6: "ramfs"}
)

// overlay is the file system of a container's own layer.
const overlay = 0x794c7630

// placeOf looks at the file system of a directory.
func placeOf(dir string) (place, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return place{}, err
	}
	kind, p := uint32(s.Type), place{left: int64(s.Bavail) * s.Bsize}
	switch {
	case networks[kind] != "":
		p.kind, p.network = networks[kind], true
	case inMemory[kind] != "":
		p.kind, p.gone = "a file system in memory ("+inMemory[kind]+")", "with the next start of the machine"
	case kind == overlay:
		p.kind, p.gone = "the layer of a container", "with the container"
	}
	return p, nil
}
