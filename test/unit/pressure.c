#include "pressure.h"
#include "unit.h"

#include <errno.h>
#include <string.h>

static const struct {
    const char *base64, *bytes;
    long n;
} codes[] = {
    {"", "", 0},
    {"aGVsbG8=", "hello", 5},
    {"aGVsbA==", "hell", 4},
    {"aGVs", "hel", 3},
    {" aGV\nsbG8=\t", "hello", 5},
    {"c29tZSAyMDAwMDAgMjAwMDAwMAA=", "some 200000 2000000\0", 20},
    {"+/+/", "\xfb\xff\xbf", 3},
    {"aGVsbG8", NULL, -EINVAL},
    {"aGVsbG8=a", NULL, -EINVAL},
    {"aGVs=", NULL, -EINVAL},
    {"aGVsbA=", NULL, -EINVAL},
    {"aGVsbA===", NULL, -EINVAL},
    {"a", NULL, -EINVAL},
    {"====", NULL, -EINVAL},
    {"aG-_", NULL, -EINVAL},
    {"aGVsbG8gd29ybGQgaGVsbG8gd29ybGQgaGVsbG8=", NULL, -ENOBUFS},
};

START_TEST(base64_is_decoded)
{
    unsigned char out[24];
    long n = pressure_decode(codes[_i].base64, out, sizeof out);

    ck_assert_int_eq(n, codes[_i].n);
    if (n > 0)
        ck_assert_int_eq(memcmp(out, codes[_i].bytes, (size_t)n), 0);
}
END_TEST

static const struct {
    const char *text, *path;
    int result;
} cgroups[] = {
    {"0::/user.slice/a.service\n", "/user.slice/a.service", 0},
    {"9:name=systemd:/\n4:memory:/job\n0::/\n", "/", 0},
    {"0::/without an end", "/without an end", 0},
    {"0::/../other\n", "/../other", 0},
    {"4:memory:/job\n1:cpu:/\n", NULL, -ENODATA},
    {"10::/x\n", NULL, -ENODATA},
    {"0::x\n", NULL, -ENODATA},
    {"", NULL, -ENODATA},
    {"0::/0123456789012345678901234567890123456789\n", NULL, -ENAMETOOLONG},
};

START_TEST(own_cgroup_is_found)
{
    char path[32];

    ck_assert_int_eq(pressure_cgroup(cgroups[_i].text, strlen(cgroups[_i].text), path, sizeof path), cgroups[_i].result);
    if (cgroups[_i].path)
        ck_assert_str_eq(path, cgroups[_i].path);
}
END_TEST

static const struct {
    const char *line, *cgroup, *path;
    int result;
} mounts[] = {
    {"30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate", "/a/b.service", "/sys/fs/cgroup/a/b.service/memory.pressure", 0},
    {"30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw", "/", "/sys/fs/cgroup/memory.pressure", 0},
    {"41 31 0:38 / /sys/fs/cgroup/unified rw shared:1 master:2 propagate_from:3 - cgroup2 none rw", "/x", "/sys/fs/cgroup/unified/x/memory.pressure", 0},
    {"41 31 0:38 /docker/1 /cg rw - cgroup2 none rw", "/docker/1/job", "/cg/job/memory.pressure", 0},
    {"41 31 0:38 /docker/1 /cg rw - cgroup2 none rw", "/docker/1", "/cg/memory.pressure", 0},
    {"41 31 0:38 /docker/1 /cg rw - cgroup2 none rw", "/docker/12", NULL, -ENOENT},
    {"41 31 0:38 /docker/1 /cg rw - cgroup2 none rw", "/", NULL, -ENOENT},
    {"41 31 0:38 /.. /cg rw - cgroup2 none rw", "/../job", "/cg/job/memory.pressure", 0},
    {"41 31 0:38 /a\\040b /my\\040cg\\134 rw - cgroup2 none rw", "/a b/c", "/my cg\\/c/memory.pressure", 0},
    {"41 31 0:38 / /cg\\04 rw - cgroup2 none rw", "/", "/cg\\04/memory.pressure", 0},
    {"35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory", "/", NULL, -ENOENT},
    {"35 31 0:32 / /- rw cgroup2 - tmpfs cgroup2 rw", "/", NULL, -ENOENT},
    {"30 23 0:26 / /sys/fs/cgroup rw", "/", NULL, -ENOENT},
    {"30 23 0:26", "/", NULL, -ENOENT},
    {"30 23 0:26 /\\000abcdefghijkl /cg rw - cgroup2 cgroup2 rw", "/", NULL, -ENOENT},
    {"30 23 0:26 / /cg\\000x rw - cgroup2 cgroup2 rw", "/", NULL, -ENOENT},
    {"", "/", NULL, -ENOENT},
    {"30 23 0:26 / /0123456789012345678901234567890123456789 rw - cgroup2 cgroup2 rw", "/", NULL, -ENAMETOOLONG},
};

START_TEST(file_of_the_cgroup_is_found)
{
    char path[50];

    ck_assert_int_eq(pressure_file(mounts[_i].line, strlen(mounts[_i].line), mounts[_i].cgroup, path, sizeof path), mounts[_i].result);
    if (mounts[_i].path)
        ck_assert_str_eq(path, mounts[_i].path);
}
END_TEST

Suite *suite_pressure(void)
{
    Suite *s = suite_create("pressure");
    TCase *t = tcase_create("pressure");
    tcase_add_loop_test(t, base64_is_decoded, 0, sizeof codes / sizeof *codes);
    tcase_add_loop_test(t, own_cgroup_is_found, 0, sizeof cgroups / sizeof *cgroups);
    tcase_add_loop_test(t, file_of_the_cgroup_is_found, 0, sizeof mounts / sizeof *mounts);
    suite_add_tcase(s, t);
    return s;
}
